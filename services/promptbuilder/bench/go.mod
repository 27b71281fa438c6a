module github.com/tsumugi-dev/tsumugi/services/promptbuilder/bench

go 1.26.0

replace (
	github.com/tsumugi-dev/tsumugi/gen => ../../../gen
	github.com/tsumugi-dev/tsumugi/services/internal => ../../internal
	github.com/tsumugi-dev/tsumugi/services/promptbuilder => ../
)

require (
	github.com/tiktoken-go/tokenizer v0.10.0
	github.com/tsumugi-dev/tsumugi/services/internal v0.0.0
	github.com/tsumugi-dev/tsumugi/services/promptbuilder v0.0.0
)

require (
	github.com/dlclark/regexp2/v2 v2.5.1 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	golang.org/x/text v0.44.0 // indirect
)
