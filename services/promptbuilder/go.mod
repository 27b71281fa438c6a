module github.com/tsumugi-dev/tsumugi/services/promptbuilder

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/rivo/uniseg v0.4.7
	github.com/tsumugi-dev/tsumugi/services/internal v0.0.0-00010101000000-000000000000
	pgregory.net/rapid v1.3.0
)

replace (
	github.com/tsumugi-dev/tsumugi/gen => ../../gen
	github.com/tsumugi-dev/tsumugi/services/internal => ../internal
)
