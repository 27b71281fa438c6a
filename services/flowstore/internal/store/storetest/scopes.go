package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

func requestCases() []testCase {
	first := store.Request{ID: id("request"), Digest: "digest", Result: id("n")}
	return []testCase{
		{Requests, "a request is remembered", func(e *env) {
			e.must(e.update(func(tx store.Tx) error { return tx.PutRequest(first) }))
			e.same(&first, e.request(first.ID))
			e.same((*store.Request)(nil), e.request(id("other")))
		}},
		{Requests, "the function sees the request that it put", func(e *env) {
			e.must(e.update(func(tx store.Tx) error {
				e.must(tx.PutRequest(first))
				r, known, err := tx.Request(first.ID)
				e.same(true, known)
				e.same(first, r)
				return err
			}))
		}},
		{Requests, "a request may be put again", func(e *env) {
			second := store.Request{ID: first.ID, Digest: "other", Result: id("m")}
			for _, r := range []store.Request{first, second} {
				e.must(e.update(func(tx store.Tx) error { return tx.PutRequest(r) }))
			}
			e.same(&second, e.request(first.ID))
		}},
		{Requests, "a request is forgotten after its lifetime", func(e *env) {
			e.must(e.update(func(tx store.Tx) error { return tx.PutRequest(first) }))
			e.clock.move(store.RequestLifetime - time.Minute)
			e.same(&first, e.request(first.ID))
			e.clock.move(2 * time.Minute)
			e.same((*store.Request)(nil), e.request(first.ID))
		}},
	}
}

// request gives what is remembered of a request, nil for nothing.
func (e *env) request(id uuid.UUID) *store.Request {
	e.Helper()
	var found *store.Request
	e.must(e.update(func(tx store.Tx) error {
		r, known, err := tx.Request(id)
		if known {
			found = &r
		}
		return err
	}))
	return found
}

func namespaceCases() []testCase {
	return []testCase{
		{Namespaces, "a foreign id is not found", func(e *env) {
			e.createFlow("f", "n")
			e.must(e.update(func(tx store.Tx) error { return tx.PutRequest(store.Request{ID: id("r")}) }))
			stranger := &env{T: e.T, house: e.house, ns: "a-third-" + strings.ReplaceAll(e.ns, "_", "-")}
			stranger.absent("f", "n")
			e.same((*store.Request)(nil), stranger.request(id("r")))
			e.is(stranger.connect("f", flow.Edge{From: 1, To: 1}), store.ErrFlowNotFound)
		}},
		{Namespaces, "the same id is another thing in each", func(e *env) {
			stranger := &env{T: e.T, house: e.house, ns: "a-third-" + strings.ReplaceAll(e.ns, "_", "-")}
			e.createNode("n", "ours")
			stranger.createNode("n", "theirs")
			e.same("ours", e.node("n").Texts[0].Content)
			e.same("theirs", stranger.node("n").Texts[0].Content)
		}},
		{Namespaces, "a name that cannot be a folder is refused", badNames},
	}
}

func badNames(e *env) {
	for _, ns := range []string{
		"", ".", "..", "a/b", "../default", `a\b`, "A", "é", "a b", ".flowstore", "-a", "_a", "a.b", "a\x00",
		strings.Repeat("a", 64),
	} {
		bad := &env{T: e.T, house: e.house, ns: ns}
		_, errNode := e.store.Node(e.Context(), ns, id("n"))
		_, errFlow := e.store.Flow(e.Context(), ns, id("n"))
		_, errFlush := e.store.Flush(e.Context(), ns)
		_, errProblems := e.store.Problems(e.Context(), ns)
		_, errLook := e.store.Look(e.Context(), ns, func(int, int) {})
		_, errMend := e.store.Mend(e.Context(), ns, store.MendOptions{}, func(int, int) {})
		_, errNodes := e.store.Nodes(e.Context(), ns, store.NewestFirst, store.Entry{}, 1)
		_, errFlows := e.store.Flows(e.Context(), ns, store.NewestFirst, store.Entry{}, 1)
		errUpdate := bad.update(func(store.Tx) error { e.Errorf("the function ran in %q", ns); return nil })
		for _, err := range []error{errNode, errFlow, errNodes, errFlows, errFlush, errProblems, errLook, errMend, errUpdate} {
			var refusal *store.NamespaceError
			if !errors.As(err, &refusal) || refusal.Name != ns {
				e.Errorf("namespace %q: %v", ns, err)
			}
		}
	}
	for _, ns := range []string{"a", "0", "team-1-x", strings.Repeat("a", 63)} {
		good := &env{T: e.T, house: e.house, ns: ns}
		good.createNode(e.ns, "text")
	}
}

func boundCases() []testCase {
	return []testCase{
		{Bounds, "1,000 writes in one function", func(e *env) {
			e.must(e.update(func(tx store.Tx) error {
				for i := range 1000 {
					if err := tx.CreateNode(textNode(numbered("n", i), "n")); err != nil {
						return err
					}
				}
				return nil
			}))
			e.node("n-0")
			e.node("n-999")
		}},
	}
}
