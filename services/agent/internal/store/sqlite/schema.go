package sqlite

import (
	"github.com/tsumugi-dev/tsumugi/services/internal/durable"
)

// schemaVersion stands in the database as its user_version.
const schemaVersion = 1

// schema is that of version 1. Times are microseconds since 1970; 0 is no time. Bodies are in tables that grow at their ends, and are
// found by an index: in the order of a key each turn would write to pages all over the file.
const schema = `
CREATE TABLE sessions (n INTEGER PRIMARY KEY, ns TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL, lifecycle TEXT NOT NULL, waits INTEGER NOT NULL,
	created INTEGER NOT NULL, wake INTEGER NOT NULL, version INTEGER NOT NULL, holder TEXT NOT NULL DEFAULT '', held INTEGER NOT NULL DEFAULT 0,
	epoch INTEGER NOT NULL DEFAULT 0, body BLOB NOT NULL, UNIQUE (ns, id));
CREATE INDEX sessions_new ON sessions (ns, created, id);
CREATE INDEX sessions_due ON sessions (wake, ns, id) WHERE wake > 0;
CREATE TABLE approvals (n INTEGER PRIMARY KEY, ns TEXT NOT NULL, id TEXT NOT NULL, session TEXT NOT NULL, state TEXT NOT NULL, created INTEGER NOT NULL,
	body BLOB NOT NULL, UNIQUE (ns, id));
CREATE INDEX approvals_new ON approvals (ns, state, created, id);
CREATE INDEX approvals_all ON approvals (ns, created, id);
CREATE INDEX approvals_of ON approvals (ns, session, created, id);
CREATE TABLE records (n INTEGER PRIMARY KEY, ns TEXT NOT NULL, session TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, body BLOB NOT NULL,
	UNIQUE (ns, session, seq));
CREATE TABLE texts (n INTEGER PRIMARY KEY, ns TEXT NOT NULL, session TEXT NOT NULL, id TEXT NOT NULL, until INTEGER NOT NULL, body BLOB NOT NULL,
	UNIQUE (ns, session, id));
CREATE INDEX texts_until ON texts (ns, until) WHERE until > 0;
CREATE TABLE outgoing (ns TEXT NOT NULL, session TEXT NOT NULL, n INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (ns, session, n)) WITHOUT ROWID;
PRAGMA user_version = 1;`

// migrate makes the tables of a new database.
func migrate(db *durable.DB) error { return db.Migrate(schemaVersion, map[int]string{0: schema}) }

const (
	sessionColumns = "id, owner, lifecycle, waits, created, wake, version, body"
	getSession     = "SELECT " + sessionColumns + " FROM sessions WHERE ns = ? AND id = ?"
	listSessions   = "SELECT " + sessionColumns + ` FROM sessions WHERE ns = ?1 AND (created, id) < (?2, ?3) AND (?4 = '' OR owner = ?4)
	AND (?5 = '' OR lifecycle = ?5) AND lifecycle <> ?6 AND (?7 = 0 OR waits = 1) ORDER BY created DESC, id DESC LIMIT ?8`
	addSession      = "INSERT INTO sessions (ns, id, owner, lifecycle, waits, created, wake, version, body) VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?) ON CONFLICT DO NOTHING"
	setSession      = "UPDATE sessions SET owner = ?, lifecycle = ?, waits = ?, wake = ?, version = version + 1, body = ? WHERE ns = ? AND id = ? AND version = ?"
	approvalColumns = "id, session, state, created, body"
	getApproval     = "SELECT " + approvalColumns + " FROM approvals WHERE ns = ? AND id = ?"
	// Those of a state, of a session, and all: each by its index.
	approvalsIn = "SELECT " + approvalColumns + ` FROM approvals WHERE ns = ?1 AND state = ?5 AND (created, id) < (?2, ?3) AND (?4 = '' OR session = ?4)
	ORDER BY created DESC, id DESC LIMIT ?6`
	approvalsOf = "SELECT " + approvalColumns + ` FROM approvals WHERE ns = ?1 AND session = ?4 AND (created, id) < (?2, ?3) AND (?5 = '' OR state = ?5)
	ORDER BY created DESC, id DESC LIMIT ?6`
	approvalsAll = "SELECT " + approvalColumns + ` FROM approvals WHERE ns = ?1 AND (created, id) < (?2, ?3) AND ?4 = ?5
	ORDER BY created DESC, id DESC LIMIT ?6`
	putApproval = `INSERT INTO approvals (ns, id, session, state, created, body) VALUES (?, ?, ?, ?, ?, ?)
	ON CONFLICT (ns, id) DO UPDATE SET state = excluded.state, body = excluded.body`
	listRecords = "SELECT seq, at, body FROM records WHERE ns = ? AND session = ? AND seq >= ? ORDER BY seq LIMIT ?"
	lastRecord  = "SELECT coalesce(max(seq), 0) FROM records WHERE ns = ? AND session = ?"
	addRecord   = `INSERT INTO records (ns, session, seq, at, body) SELECT ?1, ?2, ?3, ?4, ?5
	WHERE ?3 > ?6 AND ?6 = (SELECT coalesce(max(seq), 0) FROM records WHERE ns = ?1 AND session = ?2)`
	pruneRecords = "DELETE FROM records WHERE ns = ?1 AND session = ?2 AND seq < ?3 AND seq < (SELECT max(seq) FROM records WHERE ns = ?1 AND session = ?2)"
	getText      = "SELECT session, id, until, body FROM texts WHERE ns = ? AND session = ? AND id = ?"
	putText      = `INSERT INTO texts (ns, session, id, until, body) VALUES (?, ?, ?, ?, ?)
	ON CONFLICT (ns, session, id) DO UPDATE SET until = excluded.until, body = excluded.body`
	pruneTexts   = "DELETE FROM texts WHERE n IN (SELECT n FROM texts WHERE ns = ? AND until > 0 AND until <= ? LIMIT ?)"
	listTexts    = "SELECT id FROM texts WHERE ns = ? AND session = ? AND id > ? ORDER BY id LIMIT ?"
	listOutgoing = "SELECT session, n, body FROM outgoing WHERE ns = ? AND session = ? AND n > ? ORDER BY n LIMIT ?"
	putOutgoing  = `INSERT INTO outgoing (ns, session, n, body) VALUES (?, ?, ?, ?) ON CONFLICT (ns, session, n) DO UPDATE SET body = excluded.body`
	takeOutgoing = "DELETE FROM outgoing WHERE ns = ? AND session = ? AND n = ?"
	listTelling  = "SELECT DISTINCT ns, session FROM outgoing WHERE (ns, session) > (?, ?) ORDER BY ns, session LIMIT ?"
	// One look at the index for each namespace, however many sessions that has.
	listNamespaces = `WITH RECURSIVE found (ns) AS (SELECT min(ns) FROM sessions WHERE ns > ? UNION ALL
	SELECT (SELECT min(ns) FROM sessions WHERE ns > found.ns) FROM found WHERE ns IS NOT NULL) SELECT ns FROM found WHERE ns IS NOT NULL LIMIT ?`
	getLease = "SELECT holder, held, epoch FROM sessions WHERE ns = ? AND id = ?"
	setLease = "UPDATE sessions SET holder = ?, held = ?, epoch = ? WHERE ns = ? AND id = ?"
	// By store.Lease.Over: ?2 is the last end of a lease that is believed.
	listDue = "SELECT ns, id FROM sessions WHERE wake > 0 AND wake <= ?1 AND (held <= ?1 OR held > ?2 OR holder = ?3) ORDER BY wake, ns, id LIMIT ?4"
	nextDue = "SELECT coalesce(min(wake), 0) FROM sessions WHERE wake > 0 AND wake > ?"

	goneApprovals, goneTexts  = "DELETE FROM approvals WHERE ns = ? AND session = ?", "DELETE FROM texts WHERE ns = ? AND session = ?"
	goneRecords, goneOutgoing = "DELETE FROM records WHERE ns = ? AND session = ?", "DELETE FROM outgoing WHERE ns = ? AND session = ?"
	goneSession               = "DELETE FROM sessions WHERE ns = ? AND id = ?"

	// One function of a transaction, and one snapshot.
	begin, undo, end  = "SAVEPOINT one", "ROLLBACK TO one", "RELEASE one"
	snapshot, dropped = "BEGIN", "ROLLBACK"
	// pin reads something: only then a snapshot is taken.
	pin = "SELECT count(*) FROM (SELECT 1 FROM sessions LIMIT 1)"
)

// contents are the statements that take away what a session says, gone those that take away the rest of it, each with a namespace and an id.
var (
	contents = []string{goneApprovals, goneTexts, goneOutgoing}
	gone     = []string{goneRecords, goneSession}
)

// reads and writes are all statements.
var (
	reads = []string{
		getSession, listSessions, getApproval, approvalsIn, approvalsOf, approvalsAll, listRecords, lastRecord, getText, listTexts, listOutgoing,
		listTelling, listNamespaces, getLease, listDue, nextDue, snapshot, dropped, pin,
	}
	writes = []string{
		addSession, setSession, putApproval, addRecord, pruneRecords, putText, pruneTexts, putOutgoing, takeOutgoing, setLease,
		goneApprovals, goneTexts, goneRecords, goneOutgoing, goneSession, begin, undo, end,
	}
)
