package node_test

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
)

// Whatever of a node is another has another etag, and nothing else does.
func TestEtag(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 4, 1, 9, 30, 0, 1000, time.UTC)
	full := func() *node.Node {
		return &node.Node{
			Created: made, Texts: []node.Text{{Role: "user", Content: "a"}}, Tags: []string{"t"}, Summary: node.Summary{Text: "s"}, Score: new(float64),
			Generation: &node.Generation{Picks: []string{"p"}, Sampling: &sampling.Sampling{Seed: new(uint32)}},
		}
	}
	before := full().Etag()
	seen := map[string]string{}
	differs := func(what string, n *node.Node) {
		t.Helper()
		tag := n.Etag()
		if other, taken := seen[tag]; taken || tag == before {
			t.Errorf("%s has the etag of %q", what, other)
		}
		seen[tag] = what
	}
	var fields func(path string, at func(n *node.Node) reflect.Value)
	fields = func(path string, at func(n *node.Node) reflect.Value) {
		n := full()
		v := at(n)
		switch {
		case path == ".Warnings":
		case v.Type() == reflect.TypeFor[time.Time]():
			v.Set(reflect.ValueOf(made.Add(time.Hour)))
			differs(path, n)
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				fields(path+"."+v.Type().Field(i).Name, func(n *node.Node) reflect.Value { return at(n).Field(i) })
			}
		case v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().Kind() == reflect.Struct:
			fields(path, func(n *node.Node) reflect.Value { return at(n).Elem() })
			v.SetZero()
			differs(path+" gone", n)
		case v.Kind() == reflect.Pointer && !v.IsNil():
			v.SetZero()
			differs(path+" gone", n)
		case v.Kind() == reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			differs(path, n)
		case v.Kind() == reflect.Slice && v.Len() > 0:
			fields(path+"[0]", func(n *node.Node) reflect.Value { return at(n).Index(0) })
			v.Set(reflect.Append(v, v.Index(0)))
			differs(path+" longer", n)
		case v.Kind() == reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			differs(path, n)
		case v.Kind() == reflect.Array:
			v.Index(0).SetUint(7)
			differs(path, n)
		case v.Kind() == reflect.Bool:
			v.SetBool(true)
			differs(path, n)
		case v.CanInt():
			v.SetInt(7)
			differs(path, n)
		case v.CanUint():
			v.SetUint(7)
			differs(path, n)
		case v.CanFloat():
			v.SetFloat(7)
			differs(path, n)
		case v.Kind() == reflect.String:
			v.SetString("other")
			differs(path, n)
		default:
			t.Errorf("nothing is known of %s", path)
		}
	}
	fields("", func(n *node.Node) reflect.Value { return reflect.ValueOf(n).Elem() })
	warned := full()
	warned.Warnings = []string{"the time has no zone"}
	warned.Created = warned.Created.In(time.FixedZone("", 9*60*60))
	if warned.Etag() != before {
		t.Error("a warning, or another zone, makes another etag")
	}
}

// A node has one etag, however much of it is shown.
func TestEveryViewHasTheEtagOfTheNode(t *testing.T) {
	t.Parallel()
	n := node.Node{Note: "x", Texts: []node.Text{{Role: "user", Content: strings.Repeat("紡", 300)}}}
	part, err := n.Part(node.Part{Offset: 5, Length: 2})
	if err != nil || part.Etag() != n.Etag() || n.Brief().Etag() != n.Etag() || (node.Brief{Node: n}).Etag() != n.Etag() {
		t.Errorf("%s, a part %s, the beginning %s: %v", n.Etag(), part.Etag(), n.Brief().Etag(), err)
	}
}

// A summary fits what the texts say and who says it, and nothing else.
func TestSource(t *testing.T) {
	t.Parallel()
	n := node.Node{Texts: []node.Text{{Role: "user", Content: "a"}, {Role: "assistant", Content: "b"}}}
	other := n
	other.Tags, other.Model, other.Texts = []string{"t"}, "m", []node.Text{{Role: "user", Content: "a", Count: 5}, {Role: "assistant", Content: "b"}}
	if n.Source() != other.Source() {
		t.Error("tags, a model and a count make another source")
	}
	for _, texts := range [][]node.Text{{{Role: "user", Content: "ab"}}, {{Role: "user", Content: "a"}, {Role: "user", Content: "b"}}, {{Role: "user", Content: "a"}, {Role: "assistant", Content: "b"}, {}}} {
		if (node.Node{Texts: texts}).Source() == n.Source() {
			t.Errorf("%v has the same source", texts)
		}
	}
}

// A node that is kept has 0 for -0, as its file has it, and so its etag.
func TestEtagOfMinusZero(t *testing.T) {
	t.Parallel()
	minus := math.Copysign(0, -1)
	of := func(zero float64) string {
		n := node.Node{Texts: []node.Text{{Rate: zero}}, Generation: &node.Generation{
			PromptSeconds: zero, Sampling: &sampling.Sampling{Temperature: &zero, Smoothing: &sampling.Smoothing{Factor: zero, Curve: zero}},
		}}
		return n.Rounded().Etag()
	}
	if of(minus) != of(0) {
		t.Error("-0 makes another etag than 0")
	}
}
