#!/usr/bin/env bash
# Runs the benchmarks with 4 GiB of hugepages for their time; arguments go to test/bench. The replay device is built if it is not there yet.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/bin:$PWD/.deps/go/bin:$PATH
build=dataplane/engine/build
exec 9>/tmp/sinter-bench.lock # two at once would measure each other
flock 9
if [[ ! -e $build/replay/libsinter-replay.so ]]; then
  meson setup --reconfigure "$build" dataplane/engine -Ddpdk_source="$(hack/dpdk-source.sh)" >/dev/null
  ninja -C "$build" --quiet
fi
l3fwd=$(hack/l3fwd.sh) || l3fwd= # the script has said why
ovs=$(hack/ovs.sh) || ovs=
pages=/proc/sys/vm/nr_hugepages before=$(cat /proc/sys/vm/nr_hugepages) mounted=
restore() {
  [[ -z $mounted ]] || umount "$mounted"
  echo "$before" >$pages
}
trap restore EXIT
((before >= 2048)) || echo 2048 >$pages
mountpoint -q /dev/hugepages || { mkdir -p /dev/hugepages && mount -t hugetlbfs none /dev/hugepages && mounted=/dev/hugepages; }
go run ./test/bench -l3fwd "$l3fwd" -ovs "$ovs" "$@"
