package envelope_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/envelope"
)

// sample is a line of testdata/answers.jsonl: what a model put out, and what must be made of it.
type sample struct {
	Name string `json:"name"`
	// Text is the answer; Base64 stands for it where it is no valid UTF-8.
	Text   string              `json:"text"`
	Base64 []byte              `json:"base64"`
	CutOff bool                `json:"cut_off"`
	Calls  []envelope.ToolCall `json:"calls"`
	// Want is the result; without it the answer is of no use, and Why are the codes of all reasons with their fields.
	Want *envelope.Result `json:"want"`
	Why  []string         `json:"why"`
}

func (s sample) answer() envelope.Answer {
	if s.Base64 != nil {
		s.Text = string(s.Base64)
	}
	return envelope.Answer{Text: s.Text, CutOff: s.CutOff, Calls: s.Calls}
}

// samples reads the corpus.
func samples(t testing.TB) []sample {
	t.Helper()
	b, err := os.ReadFile("testdata/answers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []sample
	names := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s sample
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&s); err != nil {
			t.Fatalf("line %d: %v", len(all)+1, err)
		}
		if names[s.Name] || (s.Want == nil) == (s.Why == nil) {
			t.Fatalf("line %d: the name %q is there twice, or it has not one of want and why", len(all)+1, s.Name)
		}
		names[s.Name] = true
		all = append(all, s)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// score is what a way of reading makes of the corpus.
type score struct {
	usable, parsed int
	// wrong are names of lines of which something was taken that the model did not say.
	wrong []string
}

// judge has every line read.
func judge(all []sample, read func(envelope.Answer) *envelope.Envelope) (s score) {
	for _, line := range all {
		got := read(line.answer())
		if line.Want != nil {
			s.usable++
		}
		switch {
		case got == nil:
		case line.Want == nil || !cmp.Equal(*got, line.Want.Envelope):
			s.wrong = append(s.wrong, line.Name)
		default:
			s.parsed++
		}
	}
	return s
}

func parse(a envelope.Answer) *envelope.Envelope {
	r, err := envelope.Parse(a)
	if err != nil {
		return nil
	}
	return &r.Envelope
}

// A model's answer is understood as it is meant or not at all: what an answer in the corpus says must come out, with each repair
// told, and what is of no use must be refused for the reasons that stand there.
func TestCorpus(t *testing.T) {
	t.Parallel()
	all := samples(t)
	for _, line := range all {
		got, err := envelope.Parse(line.answer())
		if line.Want != nil {
			if err != nil {
				t.Errorf("%s: %v", line.Name, err)
			} else if diff := cmp.Diff(line.Want, got); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", line.Name, diff)
			}
			continue
		}
		if why := codes(t, err); !slices.Equal(why, line.Why) {
			t.Errorf("%s: refused for %q, want %q", line.Name, why, line.Why)
		}
	}
	s := judge(all, parse)
	t.Logf("corpus: %d answers, %d of %d usable ones parsed (%.1f %%), %d wrong accepts", len(all), s.parsed, s.usable, 100*float64(s.parsed)/float64(s.usable), len(s.wrong))
	if len(all) < 300 || s.usable < 200 || s.parsed*100 < s.usable*99 || len(s.wrong) > 0 {
		t.Errorf("too few, or wrong: %q", s.wrong)
	}
}

// codes are the reasons of an error, as the corpus writes them.
func codes(t testing.TB, err error) []string {
	t.Helper()
	var e *envelope.Error
	if err == nil {
		return nil
	}
	if !errors.As(err, &e) {
		t.Fatalf("no *Error: %v", err)
	}
	out := make([]string, len(e.Reasons))
	for i, r := range e.Reasons {
		out[i] = strings.TrimSpace(string(r.Code) + " " + r.Path)
	}
	return out
}

// The corpus can fail. Readings that are often seen in the field are measured by it and take what was not said; so is ours when
// an expected result is damaged.
func TestCorpusCanFail(t *testing.T) {
	t.Parallel()
	all := samples(t)
	between := func(a envelope.Answer) *envelope.Envelope {
		from, to := strings.Index(a.Text, "{"), strings.LastIndex(a.Text, "}")
		if from < 0 || to < from {
			return nil
		}
		return parse(envelope.Answer{Text: a.Text[from : to+1], Calls: a.Calls})
	}
	last := func(a envelope.Answer) *envelope.Envelope {
		for at := len(a.Text); at >= 0; at-- {
			if e := parse(envelope.Answer{Text: a.Text[at:], Calls: a.Calls}); e != nil {
				return e
			}
		}
		return nil
	}
	lenient := func(a envelope.Answer) *envelope.Envelope {
		var m struct {
			Rationale    string
			NextStep     envelope.NextStep `json:"next_step"`
			Step         envelope.Step
			Consistency  json.RawMessage `json:"goal_consistency"`
			ConstraintOK json.RawMessage `json:"constraint_check"`
		}
		if json.Unmarshal([]byte(a.Text), &m) != nil {
			return nil
		}
		return &envelope.Envelope{Rationale: m.Rationale, NextStep: m.NextStep, Step: m.Step}
	}
	for name, read := range map[string]func(envelope.Answer) *envelope.Envelope{"first brace to last": between, "the last object": last, "encoding/json": lenient} {
		s := judge(all, read)
		t.Logf("%s: %d of %d parsed, %d wrong accepts", name, s.parsed, s.usable, len(s.wrong))
		if len(s.wrong) == 0 {
			t.Errorf("%s: nothing wrong was found", name)
		}
	}
	for i, line := range all {
		if line.Want == nil {
			continue
		}
		damaged := *line.Want
		damaged.Envelope.ConstraintCheck.OK = !damaged.Envelope.ConstraintCheck.OK
		all[i].Want = &damaged
	}
	if s := judge(all, parse); len(s.wrong) != s.usable {
		t.Errorf("of %d damaged results %d were found", s.usable, len(s.wrong))
	}
}
