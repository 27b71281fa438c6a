package wire

import "testing"

// What a node says of its seconds comes back as it was sent, to the last digit.
func TestSecondsThereAndBack(t *testing.T) {
	t.Parallel()
	for _, want := range []float64{0, 2.441848, 1.652321, 0.000001, 86399.999999} {
		if got := seconds(duration(want)); got != want {
			t.Errorf("%v became %v", want, got)
		}
	}
}
