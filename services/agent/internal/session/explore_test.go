package session

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// table is field/review-agent.md 2a, by hand: the states that may follow each row.
var table = map[[3]string]string{
	{"P", "MODEL", "E"}: "IP OK RUI", {"P", "MODEL", "R"}: "IP RUI", {"E", "MODEL", "R"}: "IP RUI", {"R", "MODEL", "E"}: "IP OK RUI",
	{"R", "MODEL", "D"}: "OK", {"P", "GATE", "A"}: "RUI", {"E", "GATE", "A"}: "RUI", {"R", "GATE", "A"}: "RUI",
	{"P", "ERROR", "P"}: "ERR RUI", {"E", "ERROR", "P"}: "ERR RUI", {"R", "ERROR", "P"}: "ERR RUI",
	{"A", "DECISION", "E"}: "IP", {"A", "DECISION", "R"}: "IP", {"A", "DECISION", "P"}: "IP RUI", {"A", "EXPIRY", "E"}: "IP", {"A", "EXPIRY", "P"}: "IP RUI",
	{"A", "SUPERSEDE", "P"}: "IP", {"A", "CANCEL", "P"}: "IP", {"A", "FATAL", "P"}: "ERR",
	{"D", "NEW_TASK", "P"}: "IP", {"P", "NEW_TASK", "P"}: "IP", {"E", "NEW_TASK", "P"}: "IP", {"R", "NEW_TASK", "P"}: "IP",
}

var short = map[string]string{
	string(InProgress): "IP", string(Success): "OK", string(Error): "ERR", string(RequiresInput): "RUI",
	string(Planning): "P", string(Execution): "E", string(Review): "R", string(Awaiting): "A", string(Done): "D",
}

// exploration is every state that a scope can reach, breadth first.
type exploration struct {
	*universe
	index    map[string]int32
	parent   []int32
	label    []string
	src, dst []int32
	class    []byte
	life     []Lifecycle
	rows     map[[3]string]int
	found    map[string]string
	at       int32
	until    []string // ends when one of these is broken
}

// explore gives what is broken, by property, with a shortest trace.
func explore(c scope, without *mutant, until ...string) *exploration {
	u := newUniverse(c)
	u.without = without
	return explorer(u, until...)
}

func explorer(u *universe, until ...string) *exploration {
	x := &exploration{universe: u, index: map[string]int32{}, rows: map[[3]string]int{}, found: map[string]string{}, until: until}
	x.broken = func(prop, what string) { x.fail(prop, what, "") }
	x.visit(world{State: New(), fs: 'B'})
	return x
}

func (x *exploration) fail(prop, what, last string) {
	if _, ok := x.found[prop]; !ok {
		x.found[prop] = what + "\n\t" + strings.Join(append(x.trace(x.at), last), "\n\t")
	}
}

func (x *exploration) trace(i int32) []string {
	var all []string
	for ; i > 0; i = x.parent[i] {
		all = append(all, x.label[i])
	}
	slices.Reverse(all)
	return all
}

func (x *exploration) visit(first world) {
	queue := []world{first}
	x.number(first, -1, "")
	for i := int32(0); len(queue) > 0 && !x.over(); i++ {
		w := queue[0]
		queue[0] = world{}
		queue, x.at = queue[1:], i
		x.checkState(w)
		edges := x.edges(w)
		x.checkEdges(w, edges)
		for _, e := range edges {
			x.checkEdge(w, e, e.label)
			j, isNew := x.number(e.to, i, e.label)
			if isNew {
				queue = append(queue, e.to)
			}
			x.src, x.dst, x.class = append(x.src, i), append(x.dst, j), append(x.class, e.class)
		}
	}
	if !x.over() {
		x.acyclic()
		x.reachDone()
	}
}

func (x *exploration) over() bool {
	return slices.ContainsFunc(x.until, func(prop string) bool { return x.found[prop] != "" })
}

func (x *exploration) number(w world, from int32, label string) (int32, bool) {
	key := w.key()
	if j, ok := x.index[key]; ok {
		return j, false
	}
	j := int32(len(x.parent))
	x.index[key] = j
	x.parent, x.label, x.life = append(x.parent, from), append(x.label, label), append(x.life, w.Lifecycle)
	return j, true
}

// key is all of a world in few bytes.
func (w world) key() string {
	flag := func(all ...bool) (b byte) {
		for _, f := range all {
			b <<= 1
			if f {
				b++
			}
		}
		return b
	}
	t := w.Turn
	b := make([]byte, 0, 96)
	b = append(b, w.Step[0], w.Status[0], w.Lifecycle[0], w.Lifecycle[len(w.Lifecycle)-1], byte(t.Reasks), byte(t.ModelCalls), byte(t.Failures), byte(len(w.Queue)),
		byte(w.Recoveries), byte(w.PickUps), byte(w.moves), w.fs, flag(t.Moved, t.Blocked, w.Question.ID != "", w.ResultApproved, w.deny, w.stale, t.Next != ""))
	b = append(append(b, t.Running...), t.ID...)
	b = append(append(append(append(b, '|'), w.pc...), '|'), w.stalled...)
	b = append(append(b, '|'), w.net...)
	for i, c := range w.Calls {
		g := w.ghosts[i]
		b = append(append(b, '/', c.Kind[0], byte(c.Attempts), byte(c.Edits), flag(c.Due(now), c.Until.IsZero()), byte(g.effects), byte(g.outcomes), g.ack, byte(len(g.shown)), byte(len(c.Digest))), c.Progress...)
		b = append(append(b, ' '), c.Approval...)
	}
	return string(b)
}

func (x *exploration) checkState(w world) {
	pending := slices.ContainsFunc(w.Calls, func(c Call) bool { return c.Progress == Pending || c.Progress == OutcomePending && w.Lifecycle == Open })
	if (w.Step == Awaiting) != pending {
		x.fail("I1", fmt.Sprintf("step %s, pending %v, lifecycle %s", w.Step, pending, w.Lifecycle), "")
	}
	if w.ResultApproved && w.Step != Review && w.Step != Awaiting {
		x.fail("O8", "an approved RESULT is still remembered in "+string(w.Step), "")
	}
	for i, c := range w.Calls {
		g := w.ghosts[i]
		if g.outcomes > 1 {
			x.fail("O1", fmt.Sprintf("approval %d got two outcomes, now %s", i, c.Progress), "")
		}
		if c.Progress.Runnable() && (w.Lifecycle != Open || w.Turn.Running == NoTurn || w.Turn.Running == Stopping || w.Turn.Running == Working && w.Step != Execution) {
			x.fail("O3", fmt.Sprintf("call %d is %s, lifecycle %s, step %s, turn %q: nobody will run or void it", i, c.Progress, w.Lifecycle, w.Step, w.Turn.Running), "")
		}
		lost := slices.Contains([]Progress{Pending, Denied, Expired, CallCanceled, Superseded}, c.Progress)
		if g.ack == 'a' && lost || g.ack == 'd' && c.Progress != Denied {
			x.fail("O4", fmt.Sprintf("the decision on %d was acknowledged (%c), the record says %s", i, g.ack, c.Progress), "")
		}
	}
}

func (x *exploration) checkEdges(w world, edges []edge) {
	clock, moves := false, false
	for _, e := range edges {
		moves = moves || e.class == 'S'
		clock = clock || e.class == 'C' && strings.HasPrefix(e.label, "deadline") || strings.HasPrefix(e.label, "expire")
	}
	if !moves {
		x.checkRest(w)
	}
	if w.Lifecycle == Open && w.AwaitsApproval() && !clock {
		x.fail("O2", "a pending approval without a clock", "")
	}
	if w.pc == "M" && w.any(func(p Progress) bool { return !p.Final() }) {
		x.fail("O7", "the model is asked while a call has no result", "")
	}
}

// checkRest: no system edge leaves w; who acts next, and can a person see it?
func (x *exploration) checkRest(w world) {
	ok := w.Lifecycle == Failed || (w.Lifecycle == Completed || w.Lifecycle == Canceled) && len(w.Queue) == 0
	if w.Lifecycle == Open {
		waits := w.Status == RequiresInput && (w.Step == Awaiting || w.Turn.Running == Parked)
		ok = waits || w.Turn.Running == NoTurn && len(w.Queue) == 0 && (w.Status == RequiresInput || w.Status == Success)
	}
	if !ok {
		prop := "L1"
		if w.Lifecycle == Canceling {
			prop = "L3"
		}
		x.fail(prop, fmt.Sprintf("nothing moves: %s %s %s, turn %q, queued %d", w.Lifecycle, w.Step, w.Status, w.Turn.Running, len(w.Queue)), "")
	}
}

var lives = map[Lifecycle][]Lifecycle{
	Open: {Open, Completed, Canceling, Failed}, Canceling: {Canceling, Canceled, Failed}, Canceled: {Canceled, Open}, Completed: {Completed, Open}, Failed: {Failed},
}

func (x *exploration) checkEdge(w world, e edge, label string) {
	at, status, newTask := short[string(w.Step)], "", false
	for _, n := range e.notes {
		if n.Of != OfStep {
			continue
		}
		row := [3]string{short[n.From], string(n.Trigger), short[n.To]}
		allowed, ok := table[row]
		if !ok || row[0] != at {
			x.fail("T1", fmt.Sprintf("no row %v from %s", row, at), label)
		}
		x.rows[row]++
		at, status, newTask = row[2], allowed, newTask || n.Trigger == ByNewTask
	}
	if at != short[string(e.to.Step)] || status != "" && !slices.Contains(strings.Fields(status), short[string(e.to.Status)]) {
		x.fail("T1", fmt.Sprintf("the rows end in %s with one of %s, the state is %s, %s", at, status, e.to.Step, e.to.Status), label)
	}
	if !slices.Contains(lives[w.Lifecycle], e.to.Lifecycle) {
		x.fail("T1", fmt.Sprintf("lifecycle %s -> %s", w.Lifecycle, e.to.Lifecycle), label)
	}
	terminal := w.Lifecycle == Completed || w.Lifecycle == Canceled || w.Lifecycle == Failed
	if same := w.Lifecycle == e.to.Lifecycle && w.Step == e.to.Step && w.Status == e.to.Status; terminal && !newTask && !same {
		x.fail("I6", "a terminal state changes", label)
	}
	if w.Lifecycle == Open && e.to.Lifecycle == Canceling && len(e.to.Queue) > 0 {
		x.fail("L5", "a message that was queued before the cancel is still there", label)
	}
}

// acyclic is L2: system edges alone, and with crashes where pick-ups are counted, never repeat for ever.
func (x *exploration) acyclic() {
	counts := func(class byte) bool { return class == 'S' || class == 'F' && x.att }
	degree := make([]int32, len(x.parent))
	for e, to := range x.dst {
		if counts(x.class[e]) {
			degree[to]++
		}
	}
	first, next := x.links(x.src)
	var todo []int32
	for i, d := range degree {
		if d == 0 {
			todo = append(todo, int32(i))
		}
	}
	left := len(x.parent) - len(todo)
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for e := first[i]; e >= 0; e = next[e] {
			if to := x.dst[e]; counts(x.class[e]) {
				if degree[to]--; degree[to] == 0 {
					todo, left = append(todo, to), left-1
				}
			}
		}
	}
	if left > 0 {
		x.at = int32(slices.IndexFunc(degree, func(d int32) bool { return d > 0 }))
		x.fail("L2", fmt.Sprintf("%d states repeat for ever, or are behind such ones", left), "")
	}
}

func (x *exploration) links(key []int32) (first, next []int32) {
	first, next = make([]int32, len(x.parent)), make([]int32, len(key))
	for i := range first {
		first[i] = -1
	}
	for e, i := range key {
		next[e], first[i] = first[i], int32(e)
	}
	return first, next
}

// reachDone is L4: DONE can be reached from each state but FAILED.
func (x *exploration) reachDone() {
	first, next := x.links(x.dst)
	ok := make([]bool, len(x.parent))
	var todo []int32
	for i, l := range x.life {
		if l == Completed {
			ok[i], todo = true, append(todo, int32(i))
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for e := first[i]; e >= 0; e = next[e] {
			if from := x.src[e]; !ok[from] {
				ok[from], todo = true, append(todo, from)
			}
		}
	}
	for i, l := range x.life {
		if !ok[i] && l != Failed {
			x.at = int32(i)
			x.fail("L4", "DONE can no longer be reached", "")
			return
		}
	}
}

// TestEveryStateOfTheUniverse explores what the model of the rules explored, with this code: no property breaks, every row fires.
// The three largest scopes take minutes and gigabytes: make states (TSUMUGI_STATES=all). With the race detector, which finds nothing in a pure function, it is
// a small one.
func TestEveryStateOfTheUniverse(t *testing.T) {
	all := os.Getenv("TSUMUGI_STATES") == "all"
	percent := 800
	if all { // The largest would take more memory than many machines have.
		percent = 100
	}
	defer debug.SetGCPercent(debug.SetGCPercent(percent))
	fired := map[[3]string]int{}
	states, edges, broken := 0, 0, 0
	for _, c := range scopes {
		if c.large && !all || testkit.Race && !c.small {
			continue
		}
		x := explore(c, nil)
		states, edges = states+len(x.parent), edges+len(x.src)
		t.Logf("scope %-7s %8d states %9d edges", c.name, len(x.parent), len(x.src))
		broken += len(x.found)
		for prop, what := range x.found {
			t.Errorf("scope %s: %s is broken: %s", c.name, prop, what)
		}
		for row, n := range x.rows {
			fired[row] += n
		}
	}
	for row := range table {
		if !testkit.Race && fired[row] == 0 {
			t.Errorf("row %v never fires", row)
		}
	}
	t.Logf("%d states, %d edges, %d properties broken", states, edges, broken)
}
