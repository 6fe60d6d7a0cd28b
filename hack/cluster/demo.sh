#!/usr/bin/env bash
# From helm install to kubectl describe under real traffic, on the cluster that
# `make cluster` has brought up: a chain of firewall, router and NAPT between two pods
# that Multus attaches to its networks. Ends with an error if a step fails.
set -euo pipefail
cd "$(dirname "$0")/../.."
source hack/cluster/settings.sh
export PATH=$PWD/bin:$PATH KUBECONFIG=$kubeconfigs/admin
server=203.0.113.254

title() { printf '\n\e[1m%s\e[0m\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@"; }
client=(kubectl exec client -- /program)

title "Install the operator"
show helm upgrade --install sinter charts/sinter --namespace sinter-system --create-namespace --wait --timeout 2m >/dev/null

title "Apply the chain"
began=$EPOCHSECONDS
show kubectl apply -f config/samples/networks -f config/samples/edge.yaml
show kubectl wait --for=condition=Ready servicechain/edge --timeout=90s
echo "Ready after $((EPOCHSECONDS - began)) s"

title "A host on each side, and traffic through the chain"
hack/cluster/program.sh sinter.test/traffic:1 ./test/e2e/traffic
kubectl apply -f test/e2e/testdata/hosts.yaml >/dev/null
kubectl wait --for=condition=Ready pod/client pod/server --timeout=60s >/dev/null
"${client[@]}" send --to $server:53 --rate 10 --for 1s --patience 1s >/dev/null
show "${client[@]}" fetch --from $server:80 --bytes 50000000
echo "port 22, for which there is no rule: $("${client[@]}" fetch --from $server:22 --patience 1s 2>&1 | head -1)"
"${client[@]}" send --to $server:53 --rate 1000 --for 25s >"${TMPDIR:-/tmp}/sinter-demo.$$" &
stream=$!
sleep 20 # until the instance has reported the rate

title "What kubectl says meanwhile"
show kubectl get servicechains,chaininstances,chainprograms
show kubectl describe servicechain edge
wait $stream
title "What became of 25,000 datagrams"
cat "${TMPDIR:-/tmp}/sinter-demo.$$"
rm "${TMPDIR:-/tmp}/sinter-demo.$$"
