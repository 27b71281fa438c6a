package allinone

import (
	"testing"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
)

// TestOneSampling: what a preset says of sampling can be sent and recorded as it is. The messages are two since
// promptbuilder knows nothing of flowstore.
func TestOneSampling(t *testing.T) {
	t.Parallel()
	preset, record := (&promptbuilderv1.Sampling{}).ProtoReflect().Descriptor().Fields(), (&flowstorev1.Sampling{}).ProtoReflect().Descriptor().Fields()
	if preset.Len() != record.Len() {
		t.Errorf("a preset's sampling has %d fields, a node's %d", preset.Len(), record.Len())
	}
	for i := range record.Len() {
		want := record.Get(i)
		got := preset.ByNumber(want.Number())
		if got == nil || got.Name() != want.Name() || got.Kind() != want.Kind() || got.Cardinality() != want.Cardinality() || got.HasPresence() != want.HasPresence() {
			t.Errorf("%s of a node's sampling is %v in a preset's", want.Name(), got)
		}
	}
}
