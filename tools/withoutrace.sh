#!/usr/bin/env bash
# Runs what the pass with the race detector takes a sample of (testkit.Race) or leaves out (testkit.WithoutRace), in full and without it.
# It is these tests alone: with the rest of their packages they would take minutes more, for what that pass has found already.
set -euo pipefail
cd "$(dirname "$0")/.."
uses=$(grep -rn --include='*.go' -lE 'testkit\.(Race|WithoutRace)\b' services | sort)

# A test is found by its name, so the word has to stand in the test itself: in a function that several share, or outside of a _test.go file, no test
# would be found by it, and what it leaves out would never run.
tests=$(awk '
  FNR == 1 {test = ""}
  /^func / {test = match($0, /^func Test[^(]*/) && FILENAME ~ /_test\.go$/ ? substr($0, 6, RLENGTH - 5) : ""}
  /testkit\.(Race|WithoutRace)([^A-Za-z]|$)/ {
    if (test == "") {print "tests: " FILENAME ":" FNR ": testkit.Race and testkit.WithoutRace stand in a function of a test alone" > "/dev/stderr"; failed = 1}
    print test
  }
  /^}/ {test = ""}
  END {exit failed}' $uses | sort -u)

${GO:-go} test -run "^($(tr '\n' '|' <<<"$tests" | sed 's/|$//'))\$" $(xargs -n1 dirname <<<"$uses" | sort -u | sed 's|^|./|')
