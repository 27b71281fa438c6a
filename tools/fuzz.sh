#!/usr/bin/env bash
# Run every fuzz target for a while. usage: tools/fuzz.sh TIME "MODULES"
set -uo pipefail
cd "$(dirname "$0")/.."
targets=0 failures=0
for module in $2; do
  for file in $(grep -rlE '^func Fuzz' --include='*_test.go' "$module" || true); do
    for name in $(sed -nE 's/^func (Fuzz[A-Za-z0-9_]+).*/\1/p' "$file"); do
      targets=$((targets + 1))
      echo "$name ($(dirname "$file"))"
      go test "./$(dirname "$file")" -run '^$' -fuzz "^$name\$" -fuzztime "$1" -fuzzminimizetime 10x || failures=$((failures + 1))
    done
  done
done
echo "fuzz: $targets targets, $failures failures"
[ "$failures" = 0 ]
