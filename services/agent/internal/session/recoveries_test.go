package session

import "testing"

// TestEventsFillNoRecoveries: between two messages of a person a session recovers three times at most, however many events open turns and tasks in
// between; a person's message fills them again (C66).
func TestEventsFillNoRecoveries(t *testing.T) {
	t.Parallel()
	fails := []Event{Answered{Step: Execution, Calls: []Proposal{{ID: "c"}}}, Began{Call: "c", At: now}, Ended{"c", true}, BatchFailed{}}
	opens := func(event bool) []Event {
		return []Event{Sent{ID: "m", Mode: Queue, ByEvent: event}, TurnOpened{Turn: "t", Utterance: "u", ByEvent: event}}
	}
	spent, _ := play(t, machine, New(), begin()...)
	for range machine.Limits.Recoveries {
		spent, _ = play(t, machine, spent, append(fails, Recovered{"v"})...)
	}
	ended, _ := play(t, machine, spent, Answered{Step: Review, Next: NextContinue, Utterance: "w"}, Answered{Step: Review, Next: NextDone})
	canceled, _ := play(t, machine, spent, CancelSent{"t1"}, WorkStopped{})
	escaped, _ := play(t, machine, spent, fails...)
	if escaped.Reason != ReasonErrors || ended.Lifecycle != Completed || canceled.Lifecycle != Canceled {
		t.Fatalf("%+v, %+v, %+v", escaped, ended, canceled)
	}
	for name, s := range map[string]State{"after the errors": escaped, "after the end of the task": ended, "after a cancel": canceled} {
		byEvent, _ := play(t, machine, s, append(opens(true), fails...)...)
		if byEvent.Reason != ReasonErrors || byEvent.Turn.Running != NoTurn {
			t.Errorf("%s an event fills them: %+v", name, byEvent)
		}
		if byEvent, _ = play(t, machine, byEvent, append(opens(false), fails...)...); byEvent.Status != Error || byEvent.Recoveries != 1 {
			t.Errorf("%s a person's message does not: %+v", name, byEvent)
		}
	}
}
