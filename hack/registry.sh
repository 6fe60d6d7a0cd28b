#!/usr/bin/env bash
# Fetches Debian's image registry for tests of `make push` and unpacks it into .deps/registry; apt checks its signature. The package itself
# would start a daemon. Installs skopeo, which pushes. Prints the program.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/.deps/registry
program=$folder/usr/bin/docker-registry
hack/install-deps.sh skopeo >&2
if [[ ! -e $folder/.complete ]]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  fetch() { (cd "$work" && apt-get -q -o APT::Sandbox::User=root download docker-registry) >>"$work/log" 2>&1; }
  echo "fetching docker-registry into ${folder#"$PWD"/}" >&2
  fetch || { apt-get -q update >>"$work/log" 2>&1 || true; fetch; } || { cat "$work/log" >&2; exit 1; }
  rm -rf "$folder"
  mkdir -p "$folder"
  dpkg-deb -x "$work"/*.deb "$folder"
  "$program" --version >/dev/null # has all libraries
  touch "$folder/.complete"
fi
echo "$program"
