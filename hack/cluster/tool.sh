#!/usr/bin/env bash
# Loads an image into the cluster that has one program of this machine, with the libraries that it needs and further ones, and nothing else.
#   hack/cluster/tool.sh IMAGE PROGRAM [LIBRARY...]
set -euo pipefail
cd "$(dirname "$0")/../.."
image=$1 program=$(command -v "$2")
shift 2
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT
mkdir -p "$tmp/root/var/run"
while read -r file; do
  mkdir -p "$tmp/root$(dirname "$file")"
  cp -L "$file" "$tmp/root$file"
done < <(printf '%s\n' "$program" "$@"; ldd "$program" "$@" | grep -o '/[^ :]* ' | sort -u)
hack/images/users.sh "$tmp/root"
hack/images/oci.py --name "$image" --layer "$tmp/root" --entrypoint "$program" "$tmp/image.tar"
hack/cluster/cluster.sh load "$tmp/image.tar"
