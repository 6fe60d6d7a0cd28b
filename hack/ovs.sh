#!/usr/bin/env bash
# Fetches Debian's Open vSwitch with DPDK for benchmarks and unpacks it into .deps/ovs; apt checks its signature. Only the libraries that it
# needs are installed: the packages themselves would start daemons. Prints the folder.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/.deps/ovs
if [[ ! -e $folder/.complete ]]; then
  hack/install-deps.sh libbpf1 libcap-ng0 libnuma1 libunbound8 libxdp1 >&2
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  fetch() { (cd "$work" && apt-get -q -o APT::Sandbox::User=root download openvswitch-common openvswitch-switch openvswitch-switch-dpdk) >>"$work/log" 2>&1; }
  echo "fetching Open vSwitch into ${folder#"$PWD"/}" >&2
  fetch || { apt-get -q update >>"$work/log" 2>&1 || true; fetch; } || { cat "$work/log" >&2; exit 1; }
  rm -rf "$folder"
  mkdir -p "$folder"
  for package in "$work"/*.deb; do dpkg-deb -x "$package" "$folder"; done
  "$folder/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk" --version >/dev/null # has all libraries
  touch "$folder/.complete"
fi
echo "$folder"
