#!/usr/bin/env bash
# Loads an image into the cluster that has one program of this machine, with the libraries that it needs, and nothing else.
#   hack/cluster/tool.sh IMAGE PROGRAM
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$(command -v "$2")
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT
mkdir "$tmp/root"
while read -r file; do
  mkdir -p "$tmp/root$(dirname "$file")"
  cp -L "$file" "$tmp/root$file"
done < <(echo "$program"; ldd "$program" | grep -o '/[^ ]*')
hack/images/users.sh "$tmp/root"
hack/images/oci.py --name "$1" --layer "$tmp/root" --entrypoint "$program" "$tmp/image.tar"
hack/cluster/cluster.sh load "$tmp/image.tar"
