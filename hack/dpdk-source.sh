#!/usr/bin/env bash
# Fetches what Debian's DPDK packages lack into .deps/dpdk: the headers that drivers are built with, and l3fwd.
# It is the source package of the installed version; apt checks its signature. Prints the folder.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(dpkg-query -Wf '${Version}' libdpdk-dev)
folder=$PWD/.deps/dpdk-${version%%-*}
needed=(lib/ethdev lib/eal/include drivers/bus/vdev/bus_vdev_driver.h examples/common examples/l3fwd)

if [[ ! -e $folder/.complete ]]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/source"
  for suite in "debian bookworm" "debian-security bookworm-security"; do
    read -r site name <<<"$suite"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/$site $name main"
  done >"$work/sources.list"
  apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
  {
    echo "fetching the source package of DPDK $version into ${folder#"$PWD"/}"
    "${apt[@]}" update
    (cd "$work/source" && "${apt[@]}" source --download-only "dpdk=$version")
  } >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  rm -rf "$folder"
  mkdir -p "$folder"
  tar -xf "$work"/source/dpdk_*.orig.tar.xz -C "$folder" --strip-components=1 --wildcards "${needed[@]/#/*/}"
  touch "$folder/.complete"
fi
ln -sfn "${folder##*/}" .deps/dpdk # relative: a work tree may share the folder
echo "$PWD/.deps/dpdk"
