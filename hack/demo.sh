#!/usr/bin/env bash
# Firewall, router and NAPT as one packet program between two zones, a provider
# and the Internet, on real packets: what crosses, what does not and why, a rule
# change under load, and the chain before and after synthesis. Every claim is
# checked; the exit code is 1 if one fails. Needs root; cleans up behind itself.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/bin:$PWD/.deps/go/bin:$PATH
source hack/demo/net.sh
source hack/demo/checks.sh

out=$PWD/demo-out
tmp=$(mktemp -d /tmp/sinter-demo.XXXXXX)
chain=$tmp/chain.yaml
socket=$tmp/engine.sock
web=203.0.113.80
service=204.152.80.80
pids=()
engine_pid=
pages_before=
mounted=
eal=()

# start runs a server in a namespace; ip replaces itself by it, so that its process is the one to end.
start() { local ns=$1; shift; ip netns exec "sinter-$ns" "$@" >>"$tmp/servers.log" 2>&1 & pids+=($!); }

cleanup() {
  trap - EXIT INT TERM
  if [[ -n $engine_pid ]]; then kill "$engine_pid" 2>/dev/null && wait "$engine_pid" 2>/dev/null; fi
  ((${#pids[@]})) && kill "${pids[@]}" 2>/dev/null && wait "${pids[@]}" 2>/dev/null
  net_down
  [[ -n $mounted ]] && umount "$mounted"
  [[ -n $pages_before ]] && echo "$pages_before" >/proc/sys/vm/nr_hugepages
  rm -rf "$tmp"
}

# hugepages reserves 512 MB for the time of the demo, or settles for ordinary pages.
hugepages() {
  local want=256 now
  now=$(cat /proc/sys/vm/nr_hugepages 2>/dev/null || echo 0)
  if ((now < want)); then
    pages_before=$now
    echo $want >/proc/sys/vm/nr_hugepages 2>/dev/null || true
  fi
  if (($(cat /proc/sys/vm/nr_hugepages 2>/dev/null || echo 0) >= want)); then
    mountpoint -q /dev/hugepages && return
    { mkdir -p /dev/hugepages && mount -t hugetlbfs none /dev/hugepages && mounted=/dev/hugepages; } || eal=(--no-huge)
  else
    echo "no hugepages here: using ordinary pages"
    eal=(--no-huge)
  fi
}

# run_chain starts sinterctl in the engine's namespace, and waits for the program to run.
run_chain() {
  cp hack/demo/chain.yaml "$chain"
  ip netns exec sinter-engine sinterctl run "$chain" --socket "$socket" "${eal[@]}" >"$tmp/run.log" 2>&1 &
  engine_pid=$!
  local i
  for i in $(seq 150); do
    sinterctl stats --socket "$socket" >/dev/null 2>&1 && return
    kill -0 "$engine_pid" 2>/dev/null || break
    sleep 0.1
  done
  echo "the chain does not run:" >&2
  cat "$tmp/run.log" >&2
  exit 1
}

servers() {
  start web hack/demo/whoami.py 80
  start isp hack/demo/whoami.py 80
  start web hack/demo/stream.py echo 7777
  start web iperf3 -s
  sleep 1
}

introduce() {
  title "The chain: firewalls for two zones, a router, a NAPT towards the Internet (hack/demo/chain.yaml)"
  sed -n '/^#   zone-a/,/^#   zone-b/s/^#//p' hack/demo/net.sh
}

ping_from() { in_ns "$1" ping -n -q -c "${3:-3}" -i 0.05 -W 1 "$2"; }
curl_from() { in_ns "$1" curl -sS --connect-timeout 1 --max-time 10 "http://$2${3:-/}"; }

crosses() {
  title "What crosses"
  passes "zone-a pings its gateway, the chain itself" ping_from zone-a 10.0.0.1
  passes "zone-a pings the Internet" ping_from zone-a $web
  passes "zone-b pings the Internet" ping_from zone-b $web
  says "zone-a's web request arrives under an address of the NAT pool" '^198\.51\.100\.(1[6-9]|2[0-9]|3[01])$' curl_from zone-a $web
  says "zone-b's too" '^198\.51\.100\.(1[6-9]|2[0-9]|3[01])$' curl_from zone-b $web
  says "zone-a's request to the provider's service is not translated" '^10\.0\.0\.10$' curl_from zone-a $service
  passes "20 MB by HTTP arrive whole" download
  title "The hops to the Internet, the chain's router being the first"
  in_ns zone-a traceroute -n -q1 -w1 $web | tee "$tmp/trace" | sed 's/^/  /'
  says "traceroute sees router, edge, core and server" '^10\.0\.0\.1 198\.51\.100\.254 192\.0\.2\.2 203\.0\.113\.80$' \
    awk '/^ *[0-9]/ { printf "%s%s", s, $2; s = " " } END { print "" }' "$tmp/trace"
}

download() { [[ $(curl_from zone-b $web /big | wc -c) == 20000000 ]] && echo "20000000 bytes"; }

throughput() {
  title "Throughput (AF_PACKET on veth, one worker that shares $(nproc) CPUs with the senders)"
  (sleep 1; sinterctl stats --socket "$socket" --over 1s >"$tmp/live") &
  local live=$!
  iperf_check "TCP from zone-a" zone-a
  wait $live
  iperf_check "TCP to zone-a" zone-a -R
  iperf_check "UDP at 20 Mbit/s from zone-b, below 1 % lost" zone-b -u -b 20M -l 1400
  title "What sinterctl showed meanwhile"
  sed 's/^/  /' "$tmp/live"
}

iperf_check() { # what, namespace, options…
  local what=$1 ns=$2 json; shift 2
  json=$(in_ns "$ns" iperf3 -c $web -t 3 -J "$@" 2>&1)
  verdict "$(iperf_good <<<"$json" >"$tmp/iperf"; echo $?)" "$what" "$(cat "$tmp/iperf")"
}

iperf_good() {
  python3 -c '
import json, sys
end = json.load(sys.stdin)["end"]
s = end.get("sum_received") or end["sum"]
lost = end.get("sum", {}).get("lost_percent", 0)
text = "%.0f Mbit/s" % (s["bits_per_second"] / 1e6)
if "lost_percent" in end.get("sum", {}):
    text += ", %.2f %% lost" % lost
print(text)
sys.exit(not (s["bits_per_second"] > 1e6 and lost < 1))'
}

# dropped REASON: packets that the running engine has dropped for it.
dropped() {
  sinterctl stats --socket "$socket" -o json | python3 -c '
import json, sys
print(next((d["packets"] for d in json.load(sys.stdin)["drops"] if d["reason"] == sys.argv[1]), 0))' "$1"
}

# counts WHAT REASON N COMMAND…: the command fails, and exactly N more packets are dropped for the reason.
counts() {
  local what=$1 reason=$2 n=$3 before after; shift 3
  before=$(dropped "$reason")
  "$@" >/dev/null 2>&1 && { verdict 1 "$what" "it went through"; return; }
  after=$(dropped "$reason")
  verdict $((after - before != n)) "$what" "$((after - before)) dropped as $reason"
}

blocked() {
  title "What does not cross, and under which reason it is counted"
  counts "zone-a may not reach zone-b" fw-a/drop 3 ping_from zone-a 10.1.0.10
  counts "no telnet to the Internet" fw-b/drop 1 in_ns zone-b timeout 0.5 bash -c "echo >/dev/tcp/$web/23"
  in_ns zone-a ip addr add 172.16.9.9/32 dev lo
  counts "no forged source addresses" reverse-path 3 in_ns zone-a ping -n -q -c 3 -i 0.05 -W 1 -I 172.16.9.9 $web
  counts "nothing from the Internet without a binding" nat-no-binding 1 \
    in_ns web timeout 0.5 bash -c 'echo >/dev/tcp/198.51.100.20/22'
  counts "the provider's services may not open connections into a zone" fw-a/default 1 \
    in_ns isp timeout 0.5 bash -c 'echo >/dev/tcp/10.0.0.10/22'
  echo
  sinterctl stats --socket "$socket" | sed -n '/DROPPED AS/,/^$/s/^/  /p'
}

# edit changes the running chain's file by a sed expression, as an editor does: all at once.
edit() { sed "$1" "$chain" >"$tmp/new.yaml" && mv "$tmp/new.yaml" "$chain"; sleep 1; }

rule_change() {
  title "Rules change under load: 2,000 numbered datagrams per second there and back, five edits"
  local deny='      - { name: no-web, from: Inside, protocol: tcp, destinationPorts: [80], action: Drop }'
  in_ns zone-a hack/demo/stream.py send $web 7777 2000 9 >"$tmp/stream" &
  local stream=$!
  sleep 1
  edit "/name: no-telnet/a\\$deny"
  fails "the web is blocked as soon as the file says so" curl_from zone-a $web
  edit '/name: no-web/d'
  says "and open again" '^198\.51' curl_from zone-a $web
  edit '/name: out,/s/Accept/Accpet/'
  says "a chain with a mistake is refused" 'Accpet' sed "s#$tmp/##" "$tmp/run.log"
  says "and leaves the running program alone" '^198\.51' curl_from zone-a $web
  edit 's/Accpet/Accept/'
  edit 's/destinationPorts: \[23\]/destinationPorts: [23, 2323]/'
  wait $stream
  verdict $? "not one datagram is lost or doubled" "$(cat "$tmp/stream")"
  sed -n '/^running chain/,$p' "$tmp/run.log" | grep -v ' rx .*pps' | sed "s#$tmp/##; s/^/  /"
}

statistics() {
  title "What the engine counted"
  sinterctl stats --socket "$socket" | sed 's/^/  /'
}

picture() {
  title "The chain before and after synthesis"
  mkdir -p "$out"
  sinterctl synth "$chain" >"$out/classes.txt"
  sinterctl synth "$chain" -o svg >"$out/chain.svg"
  rsvg-convert "$out/chain.svg" -o "$out/chain.png"
  { head -n1 "$out/classes.txt"; echo; sinterctl explain "$chain" --in zone-a --src 10.0.0.10 --dst $web --reply; } | sed 's/^/  /'
  echo
  verdict "$(grep -q '</svg>' "$out/chain.svg" && [[ -s $out/chain.png ]]; echo $?)" "the picture is drawn" "demo-out/chain.svg, chain.png; all classes in classes.txt"
}

stop_chain() {
  title "Stopping"
  kill -TERM "$engine_pid"
  wait "$engine_pid"
  verdict $? "the chain stops cleanly"
  engine_pid=
}

[[ $EUID == 0 ]] || { echo "make demo needs root: it makes network namespaces" >&2; exit 2; }
trap cleanup EXIT
trap 'exit 130' INT TERM
net_down
hugepages
net_up
servers
run_chain
introduce
crosses
throughput
blocked
rule_change
statistics
stop_chain
picture
summary
