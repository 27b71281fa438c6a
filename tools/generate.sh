#!/usr/bin/env bash
# Generate Go and OpenAPI from proto/ into a folder. usage: tools/generate.sh ROOT   (the folder that gets gen/)
# buf is pinned in tools/go.mod, the plugins in gen/go.mod (plugin version = runtime version).
set -euo pipefail
cd "$(dirname "$0")/.."
tools/build.sh github.com/bufbuild/buf/cmd/buf
mkdir -p "$1/gen/openapi"
bin/tools/buf generate --output "$1"
