package util

import _ "github.com/tsumugi-dev/tsumugi/services/shop/app"

type Thing struct{}

func (Thing) Do() {}

func (Thing) String() string { return "" }

func Help() {}

const Answer = 42

var (
	// Told has a comment.
	Told   = 1
	Untold = 2
)
