package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
)

const encoding = "cl100k_base"

// each runs f for about a fifth of a second and gives the seconds of one run: those in which this process computed, so that
// what else the machine does moves them little. What f throws away is collected in them.
func each(f func()) float64 {
	f()
	n, start, began := 0, time.Now(), computed()
	for time.Since(start) < 200*time.Millisecond {
		f()
		n++
	}
	return (computed() - began).Seconds() / float64(n)
}

// computed is for how long the processors have worked for this process.
func computed() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // there is no other error than a wrong argument
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func englishCounts() (benchtable.Row, error) {
	return counts("counting 50 KB of English", prose(english, " ", 50<<10), 5)
}

func japaneseCounts() (benchtable.Row, error) {
	return counts("counting 50 KB of Japanese", prose(japanese, "", 50<<10), 2.5)
}

// counts compares our count of a text with that of the library whose vocabulary it is.
func counts(name, text string, goal float64) (benchtable.Row, error) {
	row := benchtable.Row{Ours: name, Peer: "tiktoken-go/tokenizer", Unit: "MB/s", Goal: benchtable.AtLeast(goal)}
	ours, err := tokenizer.OpenAI(encoding)
	if err != nil {
		return row, err
	}
	library := codec.NewCl100kBase()
	ids, _, err := library.Encode(text)
	if err != nil {
		return row, err
	}
	if !slices.EqualFunc(ours.Append(nil, text, tokenizer.Options{}), ids, func(a int32, b uint) bool { return uint(a) == b }) {
		return row, errors.New("the two sides cut the text into different tokens")
	}
	size := float64(len(text)) / 1e6
	err = row.Measure(
		func() (float64, error) { return size / each(func() { ours.Count(text, tokenizer.Options{}) }), nil },
		func() (float64, error) {
			var wrong error
			seconds := each(func() {
				if _, err := library.Count(text); err != nil {
					wrong = err
				}
			})
			return size / seconds, wrong
		})
	none := benchtable.AtMost(0)
	row.Facts = []benchtable.Fact{{Name: "allocations of one count, once warm", Figure: allocations(func() { ours.Count(text, tokenizer.Options{}) }), Goal: &none}}
	return row, err
}

// allocations is the fewest that one of a few runs made: a collection in between empties the buffers.
func allocations(f func()) float64 {
	fewest := uint64(1 << 62)
	for range 20 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		fewest = min(fewest, after.Mallocs-before.Mallocs)
	}
	return float64(fewest)
}

// longPiece compares a text without a break with one of a quarter of its length: the time must grow no faster.
func longPiece() (benchtable.Row, error) {
	row := benchtable.Row{
		Ours: "counting 48 KB without a break", Peer: "counting 12 KB without a break", Unit: "ms", Goal: benchtable.AtMost(4.5),
	}
	ours, err := tokenizer.OpenAI(encoding)
	if err != nil {
		return row, err
	}
	count := func(n int) func() (float64, error) {
		text := strings.Repeat("a", n)
		if got := ours.Count(text, tokenizer.Options{}); got == 0 {
			return func() (float64, error) { return 0, fmt.Errorf("%d bytes have no token", n) }
		}
		return func() (float64, error) { return 1000 * each(func() { ours.Count(text, tokenizer.Options{}) }), nil }
	}
	err = row.Measure(count(48<<10), count(12<<10))
	return row, err
}
