package turn

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/dialog"
)

// TestDialogWarnings: a reply that breaks the Dialog Policy stays as it is, and a row says so, in the words of the session's locale.
func TestDialogWarnings(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	reply := "どの港ですか？ いつの話ですか？ 誰が出ますか？"
	s := r.send("港の話を書いて", say("PLANNING", "done", "reply", reply))
	var rows []string
	for row, err := range r.Ledger.Rows(t.Context(), ns, id, 1) {
		r.ok(err)
		if row.Verdict == DialogWarning {
			rows = append(rows, row.Reason+row.Details)
			if row.Turn == "" {
				t.Errorf("%+v is of no turn", row)
			}
		}
	}
	if len(rows) != 1 || !strings.Contains(rows[0], "質問が3個あります") || !strings.Contains(rows[0], string(dialog.TooManyQuestions)) {
		t.Errorf("rows: %q", rows)
	}
	r.send("続けて", say("PLANNING", "done", "reply", "はい。"))
	if past := r.prompts.built[len(r.prompts.built)-1].Past; len(past) != 1 || past[0].Reply != reply || s.Turns != 1 {
		t.Errorf("%+v", past)
	}
	r.sound()
}

// TestDialogWarningsGoByWhatWasSaid: what would break the Dialog Policy does not where the message of the turn has asked for it.
func TestDialogWarningsGoByWhatWasSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const nudge, summary, one = "変えました。\n最初の一歩：ファイルを開く", "変えました。\n\n要約：名前を変えた。", "変えました。\n\nA案：港"
	var want []string
	for _, c := range []struct {
		said, reply string
		code        dialog.Code
	}{
		{"名前を変えて", nudge, dialog.NeedlessNudge}, {"何から始めますか。名前を変えて", nudge, ""}, {"名前を変えて", summary, dialog.NeedlessSummary}, {"名前を変えて、要約して", summary, ""},
		{"名前を変えて", one, dialog.OneAlternative}, {"名前をAに変えて", one, ""},
	} {
		r.send(c.said, say("PLANNING", "done", "reply", c.reply))
		if c.code != "" {
			want = append(want, string(c.code))
		}
		var got []string
		for row, err := range r.Ledger.Rows(t.Context(), ns, id, 1) {
			r.ok(err)
			var breach dialog.Warning
			if row.Verdict == DialogWarning {
				r.ok(json.Unmarshal([]byte(row.Details), &breach))
				got = append(got, string(breach.Code))
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("after %q: %q, want %q", c.said, got, want)
		}
	}
	r.sound()
}

// TestItemsThatDoNotFit: a question that a person has answered and that is still open is told; one that waited in the queue before answers nothing.
func TestItemsThatDoNotFit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ask := say("PLANNING", "pending_user", "question", "どの港ですか？", "state_delta", map[string]any{"goal": "港の話", "open_questions": []string{"どの港ですか？"}})
	s := r.send("書いて", ask)
	if s.Asked != "どの港ですか？" || len(Warnings(s)) != 0 {
		t.Errorf("%q, %q", s.Asked, Warnings(s))
	}
	s = r.send("糸崎", say("PLANNING", "done", "reply", "はい。"))
	if w := Warnings(s); s.Asked != "" || len(w) != 1 || !strings.Contains(w[0], "was answered and is still open") {
		t.Errorf("%q, %q", s.Asked, w)
	}
	r.send0("一")
	r.send0("二")
	r.model.lines = []string{ask, say("PLANNING", "done", "reply", "はい。")}
	if s = r.drive(); s.Asked != "" || !slices.Equal(s.Answered, []string{"どの港ですか？"}) {
		t.Errorf("%q, %q", s.Asked, s.Answered)
	}
	r.sound()
}
