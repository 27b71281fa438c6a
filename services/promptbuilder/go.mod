module github.com/tsumugi-dev/tsumugi/services/promptbuilder

go 1.26.0

require (
	github.com/rivo/uniseg v0.4.7 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)

replace (
	github.com/tsumugi-dev/tsumugi/gen => ../../gen
	github.com/tsumugi-dev/tsumugi/services/internal => ../internal
)
