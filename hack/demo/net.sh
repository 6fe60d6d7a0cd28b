# The demo's network: namespaces named sinter-*, gone again by net_down.
#
#   zone-a 10.0.0.10 ──┐         ┌── isp 204.152.0.2 (its services: 204.152.80.80)
#                      ├─ chain ─┤
#   zone-b 10.1.0.10 ──┘         └── edge 198.51.100.254 ── core 192.0.2.2 ── web 203.0.113.80

spaces=(zone-a zone-b isp edge core web engine)

in_ns() { local ns=$1; shift; ip netns exec "sinter-$ns" "$@"; }

# cable NS IF ADDRESS NS IF [ADDRESS]: a veth pair between two namespaces. Checksums are computed
# and segments cut before the wire, as on a real one: a raw socket would see neither done.
cable() {
  ip link add "$2" netns "sinter-$1" type veth peer name "$5" netns "sinter-$4"
  local end
  for end in "$1 $2 $3" "$4 $5 ${6:-}"; do
    read -r ns dev address <<<"$end"
    in_ns "$ns" ethtool -K "$dev" tx off rx off tso off gso off gro off >/dev/null 2>&1 || true
    in_ns "$ns" ip link set "$dev" txqueuelen 10000 up
    [[ -z $address ]] || in_ns "$ns" ip addr add "$address" dev "$dev"
  done
}

net_up() {
  local ns
  for ns in "${spaces[@]}"; do
    ip netns add "sinter-$ns"
    in_ns "$ns" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 2>/dev/null || true
    in_ns "$ns" ip link set lo up
  done
  cable zone-a eth0 10.0.0.10/24 engine zone-a
  cable zone-b eth0 10.1.0.10/24 engine zone-b
  cable isp eth0 204.152.0.2/24 engine isp
  cable edge eth0 198.51.100.254/24 engine internet
  cable edge eth1 192.0.2.1/30 core eth0 192.0.2.2/30
  cable core eth1 203.0.113.1/24 web eth0 203.0.113.80/24

  in_ns zone-a ip route add default via 10.0.0.1
  in_ns zone-b ip route add default via 10.1.0.1
  in_ns isp ip addr add 204.152.80.80/32 dev lo
  in_ns isp ip route add default via 204.152.0.1
  in_ns edge ip route add default via 192.0.2.2
  in_ns core ip route add default via 192.0.2.1
  in_ns web ip route add default via 203.0.113.1
  for ns in edge core; do
    in_ns "$ns" sysctl -qw net.ipv4.ip_forward=1 net.ipv4.icmp_ratelimit=0
  done
}

net_down() {
  local ns
  for ns in "${spaces[@]}"; do
    ip netns del "sinter-$ns" 2>/dev/null || true
  done
}
