#!/usr/bin/env bash
# A guest with a network card that has virtual functions: QEMU's igb, behind an
# emulated IOMMU (as root):
#   hack/sriov/node.sh up      boots it; if there is a cluster (hack/cluster), it joins
#   hack/sriov/node.sh down
# docs/sriov.md says what it consists of.
set -euo pipefail
cd "$(dirname "$0")"
source settings.sh
source disk.sh
source ../lib/boot.sh

is_up() { of_this_boot "$state" && [[ -e $state/qemu.pid && -d /proc/$(cat "$state/qemu.pid") ]]; }
has_cluster() { [[ -e $cluster/ready ]]; }

# wait_for tries a command until it succeeds.
wait_for() { # seconds, what, command…
  local deadline=$((SECONDS + $1)) limit=$1 what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    is_up || { echo "the guest is dead: $(cat "$state/qemu.log")" >&2; return 1; }
    ((SECONDS < deadline)) || { echo "$what: not after $limit s; the guest's console is in $state/console.log" >&2; return 1; }
    sleep 0.5
  done
}

say() { printf '%6d s  %s\n' $SECONDS "$*"; }

up() {
  local qemu guest
  ! is_up || { echo "the guest is up already"; return; }
  qemu=$(./qemu.sh)
  guest=$(./guest.sh)
  down
  mkdir -p "$state"
  chmod 700 "$state"
  mark_boot "$state"
  make_disk "$state/node.img"
  say "images"
  ! has_cluster || make_cable
  boot "$qemu" "$guest"
  wait_for 300 "the guest's login prompt" grep -q 'login:' "$state/console.log"
  say "booted"
  if has_cluster; then
    wait_for 300 "node $node" kubectl wait --for=condition=Ready "node/$node" --timeout=1s
    say "node ready"
  fi
}

# The guest's cable to the cluster's other nodes.
make_cable() {
  ip netns exec "$netns" ip tuntap add name $tap mode tap
  ip -n "$netns" link set $tap master nodes up
  ip -n "$netns" route replace $node_pods via $node_address
}
remove_cable() {
  [[ -e /run/netns/$netns ]] || return 0
  ip -n "$netns" link del $tap 2>/dev/null || true
  ip -n "$netns" route del $node_pods 2>/dev/null || true
}

# The card's cable ends in a socket: package trunk of the tests. What the guest changes on its disk is kept until
# QEMU ends, so it outlives a reset. Pages are not cleared when the kernel takes them: for the hugepages alone that
# takes an emulated processor seconds.
boot() { # QEMU's folder, guest's folder
  local enter=() args=(
    -machine q35,kernel-irqchip=off -accel tcg,thread=multi -cpu max -smp $vcpus -m $memory
    -device pvpanic -action panic=exit-failure
    -nodefaults -nographic -monitor none -serial file:/state/console.log
    -qmp unix:/state/qmp.sock,server=on,wait=off
    -kernel /guest/kernel -initrd /guest/initrd.img
    -append "console=ttyS0 tsc=reliable init_on_alloc=0 root=LABEL=root rw net.ifnames=0 mitigations=off intel_iommu=on iommu=pt hugepages=$hugepages"
    -drive file=/guest/root.img,if=virtio,format=raw,snapshot=on
    -drive file=/state/node.img,if=virtio,format=raw
    -device intel-iommu,intremap=on,caching-mode=on
    -device pcie-root-port,id=port1,chassis=1,slot=1
    -netdev dgram,id=wire,local.type=unix,local.path=/state/wire.sock,remote.type=unix,remote.path=/state/trunk.sock
    -device igb,bus=port1,netdev=wire,mac=52:54:00:00:00:01,romfile=
    # A second card without VFs, to try flow rules with, and what sends to it.
    -device pcie-root-port,id=port2,chassis=2,slot=2
    -netdev hubport,id=card,hubid=0 -netdev hubport,id=probe,hubid=0
    -device igb,bus=port2,netdev=card,mac=52:54:00:00:00:03,romfile=
    -device virtio-net-pci,netdev=probe,mac=52:54:00:00:00:04,romfile=
    -device virtio-serial -chardev socket,path=/state/agent.sock,server=on,wait=off,id=agent
    -device virtserialport,chardev=agent,name=org.qemu.guest_agent.0
  )
  if has_cluster; then
    enter=(nsenter --net="/run/netns/$netns")
    args+=(-netdev "tap,id=node,ifname=$tap,script=no,downscript=no" -device virtio-net-pci,netdev=node,mac=52:54:00:00:00:02,romfile=)
  fi
  # shellcheck disable=SC2016 # for the shell inside
  setsid "${enter[@]}" unshare --mount --propagation private bash -c '
    root=$1 guest=$2 state=$3
    shift 3
    mkdir -p "$root/guest" "$root/state"
    for place in /dev /proc; do mount --bind "$place" "$root$place"; done
    mount --bind "$guest" "$root/guest"
    mount --bind "$state" "$root/state"
    echo $$ >"$state/qemu.pid"
    exec chroot "$root" qemu-system-x86_64 "$@"' qemu "$1" "$2" "$state" "${args[@]}" >"$state/qemu.log" 2>&1 </dev/null &
  for _ in $(seq 100); do [[ ! -S $state/agent.sock ]] || break; sleep 0.1; done
  [[ -S $state/agent.sock ]] || { echo "QEMU does not start: $(cat "$state/qemu.log")" >&2; return 1; }
  setsid ./watchdog.py "$state" >"$state/watchdog.log" 2>&1 </dev/null &
  echo $! >"$state/watchdog.pid"
}

down() {
  if is_up; then
    kill "$(cat "$state/watchdog.pid")" 2>/dev/null || true
    kill "$(cat "$state/qemu.pid")"
    while is_up; do sleep 0.1; done
    ! has_cluster || kubectl delete node $node --ignore-not-found --timeout=10s || true
  fi
  remove_cable
  rm -rf "$state"
}

[[ $EUID == 0 ]] || { echo "the guest needs root: its images, mounts, a tap" >&2; exit 2; }
if has_cluster; then
  PATH=$(../cluster/binaries.sh --cached):$PATH
  export KUBECONFIG=$kubeconfigs/admin
fi
case ${1:-} in
up) up ;;
down) down ;;
*) sed -n '/^#!/d; /^#/!q; s/^# \?//p' "$0" >&2; exit 2 ;;
esac
