#!/usr/bin/env bash
# Runs the benchmarks with 2 GiB of hugepages for their time; arguments go to test/bench.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/bin:$PWD/.deps/go/bin:$PATH
pages=/proc/sys/vm/nr_hugepages before=$(cat /proc/sys/vm/nr_hugepages) mounted=
restore() {
  [[ -z $mounted ]] || umount "$mounted"
  echo "$before" >$pages
}
trap restore EXIT
((before >= 1024)) || echo 1024 >$pages
mountpoint -q /dev/hugepages || { mkdir -p /dev/hugepages && mount -t hugetlbfs none /dev/hugepages && mounted=/dev/hugepages; }
go run ./test/bench "$@"
