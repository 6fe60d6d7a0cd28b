#!/usr/bin/env bash
# Builds DPDK's l3fwd for benchmarks, from Debian's source package, into .deps. Prints the program.
# Its tables are compiled in sizes of a lab's; ours hold the Internet's routes. Nothing else is changed.
set -euo pipefail
cd "$(dirname "$0")/.."
source=$(readlink -f "$(hack/dpdk-source.sh)")
out=$source/l3fwd
if [[ ! -x $out ]]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cp -r "$source/examples/." "$work"
  sed -i -E 's/^(#define IPV4_L3FWD_LPM_MAX_RULES ).*/\1(1 << 20)/; s/^(#define IPV4_L3FWD_LPM_NUMBER_TBL8S ).*/\1(1 << 15)/' "$work/l3fwd/l3fwd_lpm.c"
  sed -i -E 's/(config_ipv4\.max_routes = ).*/\1(1 << 20);/' "$work/l3fwd/l3fwd_fib.c"
  (cd "$work/l3fwd"
    ! grep -n 'MAX_RULES  *1024$' l3fwd_lpm.c | grep IPV4
    # shellcheck disable=SC2046 # words
    gcc -w -O3 $(pkg-config --cflags libdpdk) -march=native -DALLOW_EXPERIMENTAL_API -I../common \
      main.c l3fwd_acl.c l3fwd_lpm.c l3fwd_fib.c l3fwd_em.c l3fwd_event.c l3fwd_event_generic.c l3fwd_event_internal_port.c \
      -o "$out.part" $(pkg-config --libs libdpdk)) >&2
  mv "$out.part" "$out"
fi
echo "$out"
