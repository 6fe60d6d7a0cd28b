#!/usr/bin/env bash
# Builds the named commands as static, reproducible binaries.
#   hack/images/binaries.sh VERSION FOLDER COMMAND…
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$1 out=$2
shift 2
mkdir -p "$out"
CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$version" -o "$out/" "${@/#/./cmd/}"
