# A machine with the interfaces eth1 and eth2, as the page has it, and a host behind each. To be sourced.
#
#   client 10.0.0.10, behind eth1 ── machine ── behind eth2, the gateway $1, and all addresses beyond: 203.0.113.80

spaces=(readme-client readme-machine readme-world)

within() { ip netns exec "readme-$1" "${@:2}"; }

# Offloads are off: a raw socket would see checksums that are not computed yet.
cable() { # interface of the machine, host, address…
  local interface=$1 host=$2 address
  shift 2
  ip link add eth0 netns "readme-$host" type veth peer name "$interface" netns readme-machine
  within "$host" ethtool -K eth0 tx off rx off tso off gso off gro off >/dev/null 2>&1 || true
  within machine ethtool -K "$interface" tx off rx off tso off gso off gro off >/dev/null 2>&1 || true
  within "$host" ip link set eth0 up
  within machine ip link set "$interface" up
  for address; do within "$host" ip addr add "$address" dev eth0; done
}

machine_up() { # the chain's gateway, with its prefix length
  local space
  machine_down
  for space in "${spaces[@]}"; do
    ip netns add "$space"
    ip -n "$space" link set lo up
  done
  cable eth1 client 10.0.0.10/24
  cable eth2 world "$1" 203.0.113.80/32
  within client ip route add default via 10.0.0.1
  within world python3 -m http.server --bind 203.0.113.80 --directory "$work/www" 80 >>"$work/www.log" 2>&1 &
}

machine_down() {
  local space
  for space in "${spaces[@]}"; do
    [[ -e /run/netns/$space ]] || continue
    ip netns pids "$space" | xargs --no-run-if-empty kill 2>/dev/null || true
    ip netns del "$space"
  done
}

# The client fetches a page from the world, through the chain.
fetches() { within client curl --silent --fail --max-time 1 http://203.0.113.80/ 2>/dev/null; }
