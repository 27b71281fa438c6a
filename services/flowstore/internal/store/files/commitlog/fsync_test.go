package commitlog_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// transactionsKey tells the process that is watched how many transactions it shall make, behind which folder.
const transactionsKey = "COMMITLOG_TEST_TRANSACTIONS"

// A transaction is one fdatasync, no fewer: what is acknowledged is on the disk. And no more: that is what callers share; nor an
// fsync, which waits for the journal of the file system. The system calls of another process are counted, since nothing in SQLite
// counts them.
func TestOneFsyncForEachTransaction(t *testing.T) {
	if job := os.Getenv(transactionsKey); job != "" {
		transact(t, job)
		return
	}
	t.Parallel()
	const few, many = 5, 105
	fewData, fewAll := syncs(t, few)
	manyData, manyAll := syncs(t, many)
	if data, all := manyData-fewData, manyAll-fewAll; data != many-few || all != many-few {
		t.Errorf("%d more transactions made %d more syncs of the write-ahead log, %d of them fdatasync", many-few, all, data)
	}
}

// transact makes so many transactions in a log.
func transact(t *testing.T, job string) {
	t.Helper()
	count, dir, _ := strings.Cut(job, " ")
	n, err := strconv.Atoi(count)
	if err != nil {
		t.Fatal(err)
	}
	l, err := commitlog.Open(filepath.Join(dir, "local.db"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := l.Apply(commitlog.Changes{State: &commitlog.State{Last: time.UnixMicro(int64(i)), NextNode: i}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// syncs counts the fdatasyncs, and all syncs, of the write-ahead log of a process that makes so many transactions.
func syncs(t *testing.T, transactions int) (data, all int) {
	t.Helper()
	log := testkit.SyncCalls(t, transactionsKey, strconv.Itoa(transactions)+" "+t.TempDir())
	for line := range strings.Lines(log) {
		// A call that another thread interrupts takes two lines, of which only the first names the file.
		if !strings.Contains(line, "sync(") || !strings.Contains(line, "local.db-wal") {
			continue
		}
		if all++; strings.Contains(line, "fdatasync(") {
			data++
		}
	}
	return data, all
}
