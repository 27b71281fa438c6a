// Package linecosts remembers what lines cost, for all models, within a bound.
package linecosts

import (
	"hash/maphash"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// Costs are the memories of all models. Safe for concurrent use.
type Costs struct {
	costs *lru.Cache[memorised, int]
	seed  maphash.Seed
}

// memorised is a line as one model reads it. Two lines of one hash would spoil a guess and nothing else.
type memorised struct{ model, line uint64 }

// entryBytes is what one line takes, whatever its length.
const entryBytes = 160

// New keeps about so many bytes, of the lines that were used last; at least one line.
func New(bytes int) *Costs {
	costs, err := lru.New[memorised, int](max(1, bytes/entryBytes))
	if err != nil {
		panic(err) // only for a size under 1
	}
	return &Costs{costs: costs, seed: maphash.MakeSeed()}
}

// Of is the memory of what cuts text into the same tokens.
func (c *Costs) Of(tokenizer string) fit.Memory {
	return memory{c, maphash.String(c.seed, tokenizer)}
}

type memory struct {
	all   *Costs
	model uint64
}

func (m memory) key(line string) memorised {
	return memorised{m.model, maphash.String(m.all.seed, line)}
}

func (m memory) Cost(line string) (cost int, known bool) { return m.all.costs.Get(m.key(line)) }

func (m memory) Learn(line string, cost int) { m.all.costs.Add(m.key(line), cost) }
