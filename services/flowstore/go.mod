module github.com/tsumugi-dev/tsumugi/services/flowstore

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/google/uuid v1.6.0
	pgregory.net/rapid v1.3.0
)

replace (
	github.com/tsumugi-dev/tsumugi/gen => ../../gen
	github.com/tsumugi-dev/tsumugi/services/internal => ../internal
)
