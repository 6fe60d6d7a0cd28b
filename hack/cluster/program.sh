#!/usr/bin/env bash
# Loads an image into the cluster that has one static Go program and nothing else.
#   hack/cluster/program.sh IMAGE PACKAGE
set -euo pipefail
cd "$(dirname "$0")/../.."
export PATH=$PWD/.deps/go/bin:$PATH CGO_ENABLED=0
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT
mkdir "$tmp/root"
go build -trimpath -ldflags '-s -w' -o "$tmp/root/program" "$2"
hack/images/oci.py --name "$1" --layer "$tmp/root" --entrypoint /program "$tmp/image.tar"
hack/cluster/cluster.sh load "$tmp/image.tar"
