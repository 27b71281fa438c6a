package flow_test

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

func ExampleFlow_Check() {
	first := uuid.MustParse("0192f000-0000-7000-8000-000000000001")
	second := uuid.MustParse("0192f000-0000-7000-8000-000000000002")
	novel := flow.Examine(flow.Flow{
		Members: []flow.Member{{Index: 1, Node: first}, {Index: 2, Node: second}},
		Edges:   []flow.Edge{{From: 1, To: 2}},
	})
	fmt.Println(novel.Check(flow.Change{Connect: []flow.Edge{{From: 2, To: 1}}}))
	// Output: the edge would close a cycle: nodes/0192f000-0000-7000-8000-000000000001 -> nodes/0192f000-0000-7000-8000-000000000002 -> nodes/0192f000-0000-7000-8000-000000000001
}
