#!/usr/bin/env bash
# Everything about the code that a machine can judge without running it.
# usage: tools/lint.sh "MODULES" "OUTSIDE"   OUTSIDE: modules that go.work leaves out
set -euo pipefail
cd "$(dirname "$0")/.."
modules=$1 outside=$2

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

say() { printf '== %s\n' "$*"; }
fail() { printf 'lint: %s\n' "$*" >&2; exit 1; }

say "gofmt and go vet"
unformatted=$(gofmt -l $modules $outside | grep -v '^gen/' || true)
[ -z "$unformatted" ] || fail "not formatted; run gofmt -w on: $unformatted"
go vet work
for module in $outside; do (cd "$module" && GOWORK=off go vet ./...); done

say "golangci-lint"
tools/build.sh github.com/golangci/golangci-lint/v2/cmd/golangci-lint
for module in $modules; do
  [ "$module" = gen ] || (cd "$module" && "$OLDPWD/bin/tools/golangci-lint" run ./...)
done
for module in $outside; do (cd "$module" && GOWORK=off "$OLDPWD/bin/tools/golangci-lint" run ./...); done

say "buf lint and buf breaking"
tools/build.sh github.com/bufbuild/buf/cmd/buf
bin/tools/buf lint
bin/tools/buf format --diff --exit-code --path proto/tsumugi
# The image is renewed only in a commit that names the release in CHANGELOG.md.
bin/tools/buf build --path proto/tsumugi -o "$fresh/now.binpb"
bin/tools/buf breaking "$fresh/now.binpb" --against proto/released.binpb --config buf.yaml

say "generated code is current"
tools/generate.sh "$fresh"
for folder in tsumugi openapi; do
  diff -rq --exclude=openapi.go "gen/$folder" "$fresh/gen/$folder" || fail "gen/ is not what proto/ says; run make generate"
done

say "module files are tidy and build on their own"
for module in $modules $outside; do
  (cd "$module" && GOWORK=off go mod tidy -diff) || fail "$module: run 'GOWORK=off go mod tidy' there"
  (cd "$module" && GOWORK=off go build ./...)
done

say "one version of each dependency"
# tools/ is left out: what builds buf and golangci-lint never gets into a program of ours.
different=$(for module in $modules $outside; do
  awk '/^\t[^ ]+ v[^ ]+/ {print $1, $2} /^require [^ (]+ v/ {print $2, $3}' "$module/go.mod"
done | grep -v ' v0\.0\.0$' | sort -u | awk '{n[$1]++; v[$1]=v[$1] " " $2} END {for (d in n) if (n[d] > 1) print d ":" v[d]}')
[ -z "$different" ] || fail "two versions of one dependency (go work sync, then tidy): $different"
