#!/usr/bin/env bash
# Build a tool that tools/go.mod pins, into bin/tools/. usage: tools/build.sh PACKAGE
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p bin/tools
GOWORK=off go build -C tools -o "$PWD/bin/tools/" "$1"
