package telemetry_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/telemetry"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/interceptor"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

func TestOneLineForEachEnd(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	o, err := telemetry.New(zap.New(core), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	id := uuid.New()
	ctx := interceptor.WithRequestID(namespace.With(t.Context(), "tenant"), "r-1")
	o.Ended(ctx, generation.Outcome{
		Status:  generation.Status{ID: id, Node: id, Finish: generation.FinishStop, Characters: 7},
		Backend: "gemma", Took: time.Second, Tokens: 5,
	})
	o.Ended(ctx, generation.Outcome{Status: generation.Status{Err: &generation.NotStoredError{Err: errors.New("disk full")}}})
	o.Ended(ctx, generation.Outcome{Replayed: true})
	lines := logs.All()
	if len(lines) != 3 || lines[0].Level != zap.InfoLevel || lines[1].Level != zap.ErrorLevel || lines[2].ContextMap()["finish"] != "replayed" {
		t.Fatalf("%+v", lines)
	}
	for key, want := range map[string]any{
		"generation": id.String(), "finish": "stop", "stored": true, "backend": "gemma", "characters": int64(7), "tokens": int64(5),
		"total": time.Second, "request_id": "r-1", "namespace": "tenant",
	} {
		if got := lines[0].ContextMap()[key]; got != want {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
}
