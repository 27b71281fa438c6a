module github.com/tsumugi-dev/tsumugi/services/agent/bench

go 1.26.0

replace (
	github.com/tsumugi-dev/tsumugi/gen => ../../../gen
	github.com/tsumugi-dev/tsumugi/services/agent => ../
	github.com/tsumugi-dev/tsumugi/services/internal => ../../internal
)

require (
	github.com/dbos-inc/dbos-transact-golang v1.8.0
	github.com/google/uuid v1.6.0
	github.com/jackc/pgx/v5 v5.13.0
	github.com/tsumugi-dev/tsumugi/services/agent v0.0.0-00010101000000-000000000000
	github.com/tsumugi-dev/tsumugi/services/internal v0.0.0
	golang.org/x/sync v0.25.0
)

require (
	github.com/aymanbagabas/go-udiff v0.4.1 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/jackc/pgerrcode v0.0.0-20250907135507-afb5586c32a6 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/ncruces/go-strftime v1.1.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/robfig/cron/v3 v3.0.1 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.44.0 // indirect
	modernc.org/libc v1.80.1 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
	modernc.org/sqlite v1.62.0 // indirect
)
