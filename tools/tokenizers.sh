#!/usr/bin/env bash
# Compare the tokenizers of package llm/tokenizer with the PyPI package `tokenizers`, on random texts.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.23.3
dir="${XDG_CACHE_HOME:-$HOME/.cache}/tsumugi/tokenizers-$version"
if [ ! -d "$dir" ]; then
  python3 -m pip install --quiet --no-deps --target "$dir.part" "tokenizers==$version"
  mv "$dir.part" "$dir"
fi
TSUMUGI_TOKENIZERS="$dir" go test -count=1 -v -run 'TestReference' ./services/internal/llm/tokenizer |
  awk '/compared [0-9]+$/ {equal += $NF} /^ *--- FAIL|^FAIL/ {print; failed = 1} END {printf "tokenizers: %d random texts equal\n", equal; exit failed || !equal}'
