package commitlog

import (
	"github.com/tsumugi-dev/tsumugi/services/internal/durable"
)

// schemaVersion stands in local.db as its user_version.
const schemaVersion = 3

// firstSchema is that of version 1. Times are microseconds since 1970, zones seconds east of UTC, but mtime is nanoseconds.
// Requests are in the order in which they came, so that the oldest are found first.
const firstSchema = `
CREATE TABLE state (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE log (seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, id BLOB NOT NULL, path TEXT NOT NULL, old BLOB NOT NULL, body BLOB NOT NULL);
CREATE TABLE plans (flow BLOB PRIMARY KEY, old BLOB NOT NULL, new BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE requests (n INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, at INTEGER NOT NULL, digest TEXT NOT NULL, result BLOB NOT NULL);
CREATE TABLE files (path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime INTEGER NOT NULL, hash BLOB NOT NULL, id BLOB NOT NULL, at INTEGER NOT NULL, zone INTEGER NOT NULL, problem TEXT NOT NULL) WITHOUT ROWID;
PRAGMA user_version = 1;`

// fromVersion1 adds when what a file holds was made. Of nodes that was known; flows are read again.
const fromVersion1 = `
ALTER TABLE files ADD COLUMN created INTEGER NOT NULL DEFAULT 0;
UPDATE files SET created = at;
DELETE FROM files WHERE path LIKE 'flows/%.yaml' AND problem = '';
PRAGMA user_version = 2;` + fromVersion2

// fromVersion2 adds what nodes were, which flows hold them, since when something is in the trash, steps, events, and plans for nodes. Flows are read again, to see what they hold.
const fromVersion2 = `
CREATE TABLE revisions (n INTEGER PRIMARY KEY AUTOINCREMENT, node BLOB NOT NULL, at INTEGER NOT NULL, body BLOB NOT NULL);
CREATE INDEX revisions_of ON revisions (node);
CREATE TABLE members (node BLOB NOT NULL, flow BLOB NOT NULL, PRIMARY KEY (node, flow)) WITHOUT ROWID;
CREATE TABLE steps (n INTEGER PRIMARY KEY, flow BLOB NOT NULL, undone INTEGER NOT NULL, at INTEGER NOT NULL, done BLOB NOT NULL, back BLOB NOT NULL);
CREATE INDEX steps_of ON steps (flow, undone);
CREATE TABLE events (first INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE trash (kind TEXT NOT NULL, id BLOB NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (kind, id)) WITHOUT ROWID;
ALTER TABLE plans RENAME TO flow_plans;
CREATE TABLE plans (kind TEXT NOT NULL, id BLOB NOT NULL, old BLOB NOT NULL, new BLOB NOT NULL, PRIMARY KEY (kind, id)) WITHOUT ROWID;
INSERT INTO plans SELECT 'flow', flow, old, new FROM flow_plans;
DROP TABLE flow_plans;
DELETE FROM files WHERE path LIKE 'flows/%.yaml' AND problem = '';
PRAGMA user_version = 3;`

// migrate makes the tables of a new local.db, and those of an older one new.
func migrate(db *durable.DB) error {
	return db.Migrate(schemaVersion, map[int]string{0: firstSchema + fromVersion1, 1: fromVersion1, 2: fromVersion2})
}

// The statements that are prepared.
const (
	addRecord   = "INSERT INTO log (seq, kind, id, path, old, body) VALUES (?, ?, ?, ?, ?, ?)"
	dropRecord  = "DELETE FROM log WHERE seq = ?"
	putRequest  = "INSERT OR REPLACE INTO requests (id, at, digest, result) VALUES (?, ?, ?, ?)"
	getRequest  = "SELECT digest, result FROM requests WHERE id = ? AND at > ?"
	oldRequests = "DELETE FROM requests WHERE n IN (SELECT n FROM requests ORDER BY n LIMIT 1000) AND at <= ?"
	putPlan     = "INSERT OR REPLACE INTO plans (kind, id, old, new) VALUES (?, ?, ?, ?)"
	dropPlan    = "DELETE FROM plans WHERE kind = ? AND id = ?"
	putDropped  = "INSERT OR REPLACE INTO trash (kind, id, at) VALUES (?, ?, ?)"
	dropDropped = "DELETE FROM trash WHERE kind = ? AND id = ?"
	addRevision = "INSERT INTO revisions (node, at, body) VALUES (?, ?, ?)"
	// oldRevisions keeps those of a node whose sum of sizes, from the last one on, is small enough, and the last one.
	oldRevisions = `DELETE FROM revisions WHERE n IN (SELECT n FROM (
	SELECT n, row_number() OVER last AS row, sum(length(body)) OVER last AS bytes FROM revisions WHERE node = ?
	WINDOW last AS (ORDER BY n DESC)) WHERE row > 1 AND (row > ? OR bytes > ?))`
	listRevisions = "SELECT n, at FROM revisions WHERE node = ? ORDER BY n DESC"
	getRevision   = "SELECT at, body FROM revisions WHERE node = ? AND n = ?"
	putStep       = "INSERT OR REPLACE INTO steps (n, flow, undone, at, done, back) VALUES (?, ?, ?, ?, ?, ?)"
	cutSteps      = "DELETE FROM steps WHERE flow = ? AND undone = 1"
	// oldSteps keeps those of a flow whose sum of sizes, from the last one on, is small enough, and the last one.
	oldSteps = `DELETE FROM steps WHERE n IN (SELECT n FROM (
	SELECT n, row_number() OVER last AS row, sum(length(done) + length(back)) OVER last AS bytes FROM steps WHERE flow = ?
	WINDOW last AS (ORDER BY n DESC)) WHERE row > 1 AND (row > ? OR bytes > ?))`
	listSteps  = "SELECT n, undone FROM steps WHERE flow = ? ORDER BY n"
	getStep    = "SELECT undone, at, done, back FROM steps WHERE flow = ? AND n = ?"
	addEvents  = "INSERT INTO events (first, body) VALUES (?, ?)"
	oldEvents  = "DELETE FROM events WHERE first < (SELECT max(first) FROM events WHERE first <= ?)"
	listEvents = "SELECT body FROM events WHERE first >= (SELECT coalesce(max(first), 0) FROM events WHERE first <= ?) ORDER BY first LIMIT ?"
	addMember  = "INSERT OR IGNORE INTO members (node, flow) VALUES (?, ?)"
	listFlows  = "SELECT flow FROM members WHERE node = ?"
	putFile    = "INSERT OR REPLACE INTO files (path, size, mtime, hash, id, at, zone, created, problem) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
	dropFile   = "DELETE FROM files WHERE path = ?"
	// What was kept of a thing that was purged: the kinds are those of its records but the one that purges it.
	purgeNodeRecords = "DELETE FROM log WHERE id = ? AND kind IN (1, 4, 5, 7)"
	purgeFlowRecords = "DELETE FROM log WHERE id = ? AND kind IN (2, 3, 6, 8)"
	purgeRevisions   = "DELETE FROM revisions WHERE node = ?"
	purgeMemberships = "DELETE FROM members WHERE node = ?"
	purgeSteps       = "DELETE FROM steps WHERE flow = ?"
	// Whether anything tells of a thing, and be it an event.
	knowsNode = `SELECT EXISTS (SELECT 1 FROM revisions WHERE node = ?1) OR EXISTS (SELECT 1 FROM members WHERE node = ?1)
	OR EXISTS (SELECT 1 FROM log WHERE id = ?1 AND kind IN (1, 4, 5, 7)) OR EXISTS (SELECT 1 FROM events WHERE instr(body, ?2) > 0)`
	knowsFlow = `SELECT EXISTS (SELECT 1 FROM steps WHERE flow = ?1) OR EXISTS (SELECT 1 FROM members WHERE flow = ?1)
	OR EXISTS (SELECT 1 FROM log WHERE id = ?1 AND kind IN (2, 3, 6, 8)) OR EXISTS (SELECT 1 FROM events WHERE instr(body, ?2) > 0)`
	purgeMembers = "DELETE FROM members WHERE flow = ?"
	putState     = "INSERT OR REPLACE INTO state (key, value) VALUES ('last', ?), ('next_node', ?), ('next_flow', ?)"
)

var texts = []string{
	addRecord, dropRecord, putRequest, getRequest, oldRequests, putPlan, dropPlan, putDropped, dropDropped, addRevision, oldRevisions,
	listRevisions, getRevision, putStep, cutSteps, oldSteps, listSteps, getStep, addEvents, oldEvents, listEvents, addMember, listFlows, putFile, dropFile, putState,
	purgeNodeRecords, purgeFlowRecords, purgeRevisions, purgeMemberships, purgeSteps, purgeMembers, knowsNode, knowsFlow,
}
