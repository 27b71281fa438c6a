package flow_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// node gives the node that stands at an index in the flows of these tests.
func node(index int) uuid.UUID {
	id := uuid.UUID{6: 0x40, 8: 0x80}
	binary.BigEndian.PutUint32(id[12:], uint32(index))
	return id
}

// edges reads `1-2 1-3`.
func edges(text string) []flow.Edge {
	var list []flow.Edge
	for _, pair := range strings.Fields(text) {
		var e flow.Edge
		if _, err := fmt.Sscanf(pair, "%d-%d", &e.From, &e.To); err != nil {
			panic(err)
		}
		list = append(list, e)
	}
	return list
}

// graph makes a flow of n members with the edges of text, as a reader of files would.
func graph(n int, text string) flow.Flow {
	f := flow.Flow{ID: uuid.MustParse("0192f000-0000-7000-8000-00000000000f"), Edges: edges(text)}
	for i := range n {
		f.Members = append(f.Members, flow.Member{Index: i + 1, Node: node(i + 1)})
	}
	return flow.Examine(f)
}

func indexes(steps []flow.Step) string {
	var words []string
	for _, s := range steps {
		words = append(words, fmt.Sprint(s.Index))
	}
	return strings.Join(words, " ")
}

func at(minute int) time.Time { return time.Date(2025, 5, 9, 6, minute, 0, 0, time.UTC) }

func ptr[T any](v T) *T { return &v }

// noneIsEmpty takes no slice for an empty one.
var noneIsEmpty = cmpopts.EquateEmpty()
