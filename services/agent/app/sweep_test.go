package app

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/telemetry"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/toolbox"
)

// unswept is a work folder, and an engine for which it is too early to sweep until held is nil.
type unswept struct {
	folder.Root
	held  atomic.Pointer[error]
	looks atomic.Int32
}

func (u *unswept) About() folder.About { return folder.About{Name: "work"} }

func (u *unswept) Sweep(context.Context, folder.Root) (folder.Swept, error) {
	u.looks.Add(1)
	if held := u.held.Load(); held != nil {
		return folder.Swept{}, *held
	}
	return folder.Swept{}, nil
}

// TestASweepThatIsHeldUpIsTold: what keeps a work folder from being swept for longer than an hour is in the log and in the metrics, once an hour and
// not with each look, until nothing does any more.
func TestASweepThatIsHeldUpIsTold(t *testing.T) {
	t.Parallel()
	for name, held := range map[string]error{
		"session s1": folder.Refuse(folder.Unsettled, "", "session s1 cannot be read"), "another session": &folder.BusyError{Folder: "work"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				core, logs := observer.New(zap.InfoLevel)
				metrics := prometheus.NewRegistry()
				told, err := telemetry.NewSessions(zap.New(core), metrics)
				if err != nil {
					t.Fatal(err)
				}
				u := &unswept{}
				u.held.Store(&held)
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				go sweeper{engine: u, work: map[string]toolbox.Folder{"work": {Root: u}}, observer: told}.run(ctx)
				for _, lines := range []int{0, 1, 2} { // after 1, 2 and 3 hours
					time.Sleep(time.Hour)
					synctest.Wait()
					if logs.Len() != lines {
						t.Errorf("%d lines, want %d: %+v", logs.Len(), lines, logs.All())
					}
				}
				if looks := u.looks.Load(); looks < 12 || looks > 16 {
					t.Errorf("%d looks in three hours", looks)
				}
				for _, l := range logs.All() {
					if why, _ := l.ContextMap()["error"].(string); l.Level != zap.WarnLevel || l.ContextMap()["root"] != "work" || !strings.Contains(why, name) {
						t.Errorf("%+v", l)
					}
				}
				all, err := metrics.Gather()
				if err != nil || len(all) != 1 || len(all[0].GetMetric()) != 1 {
					t.Fatalf("%v, %v", all, err)
				}
				if m := all[0].GetMetric()[0]; m.GetLabel()[0].GetValue() != "sweep" || m.GetCounter().GetValue() != 2 {
					t.Errorf("the metrics have %v", m)
				}
				u.held.Store(nil)
				time.Sleep(3 * time.Hour)
				synctest.Wait()
				if logs.Len() != 2 {
					t.Errorf("told although nothing holds it up: %+v", logs.All())
				}
			})
		})
	}
}
