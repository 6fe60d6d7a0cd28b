#!/usr/bin/env bash
# A real Kubernetes of one node on this machine, in namespaces of its own (as root):
#   hack/cluster/cluster.sh up | down
#   hack/cluster/cluster.sh start | stop SERVICE…    kube-apiserver, etcd, kubelet, …
#   hack/cluster/cluster.sh in COMMAND…              runs it in the cluster's namespaces
#   hack/cluster/cluster.sh load ARCHIVE…            imports images into containerd
#   hack/cluster/cluster.sh credentials NODE ADDRESS FOLDER   for the kubelet of a further node
# docs/cluster.md says what it consists of.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=hack/cluster
source $here/settings.sh
source hack/lib/boot.sh
source $here/pki.sh
source $here/host.sh
source $here/services.sh
pause_image=sinter.test/pause:1
export KUBECONFIG=$kubeconfigs/admin

say() { printf '%4d.%d s  %s\n' $(((${EPOCHREALTIME/./} - began) / 1000000)) $(((${EPOCHREALTIME/./} - began) / 100000 % 10)) "$*"; }
is_up() { of_this_boot "$state" && [[ -e $state/init.pid && -d /proc/$(cat "$state/init.pid") ]]; }
must_be_up() { is_up || { echo "the cluster is not up: make cluster brings it up" >&2; exit 1; }; }
use_binaries() { binaries=$($here/binaries.sh "$@") && PATH=$binaries:$PATH; }

up() {
  use_binaries
  began=${EPOCHREALTIME/./} # microseconds
  if is_up; then echo "the cluster is up already"; return; fi
  [[ ! -e $state ]] || down
  mkdir -p "$state"/{log,pid,daemon,pki,kubeconfig,node}
  chmod 700 "$state"
  mark_boot "$state"
  save_sysctls
  add_hugepages
  make_cgroups
  make_network
  make_credentials
  start_init
  say "namespaces, certificates"
  network_config
  start etcd
  start kube-apiserver
  say "API server"
  kubectl apply --server-side -f $here/manifests >/dev/null
  start containerd
  $here/program.sh $pause_image ./$here/pause
  start kube-controller-manager
  start kube-scheduler
  start kubelet
  start kube-proxy
  start coredns
  wait_for node kubectl wait --for=condition=Ready node/$node --timeout=1s
  wait_for "default service account" kubectl get serviceaccount default
  say "node ready"
}

start_init() {
  nsenter --net=/run/netns/$netns setsid unshare --mount --pid --fork --propagation private \
    $here/init.sh >"$logs/init.log" 2>&1 </dev/null 9>&- &
  local unshare=$!
  wait_for namespaces test -e "$state/ready"
  pgrep --parent "$unshare" >"$state/init.pid"
}

# Pods are cabled to the node one by one (ptp); Multus asks for further networks.
network_config() {
  local pods
  pods='{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "ptp", "ipam": {"type": "host-local", "ranges": [[{"subnet": "'$node_pods'"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}'
  inside tee /etc/cni/net.d/00-multus.conf >/dev/null <<EOF
{"cniVersion": "1.0.0", "name": "multus", "type": "multus", "kubeconfig": "$kubeconfigs/multus", "binDir": "$binaries/cni",
 "logFile": "$logs/multus.log", "logLevel": "verbose", "delegates": [$pods]}
EOF
}

load() {
  local archive
  for archive; do
    inside "$binaries/ctr" --namespace k8s.io images import - <"$archive" >"$logs/load.log" 2>&1 || { cat "$logs/load.log" >&2; return 1; }
  done
}

down() {
  # A reboot leaves nothing but the files.
  ! of_this_boot "$state" || undo
  rm -rf "$state"
}

undo() {
  # All processes of a PID namespace end with its first, and with them their mounts and networks.
  if is_up; then
    kill -KILL "$(cat "$state/init.pid")"
    local try
    for try in $(seq 100); do is_up || break; sleep 0.1; done
  fi
  remove_network
  remove_cgroups
  remove_hugepages
  restore_sysctls
}

[[ $EUID == 0 ]] || { echo "the cluster needs root: namespaces, mounts, cgroups" >&2; exit 2; }
command=${1:-}
(($#)) && shift
case $command in
up) up ;;
down) down ;;
in) must_be_up; use_binaries --cached; inside "$@" ;;
start) must_be_up; use_binaries --cached; for service; do start "$service"; done ;;
stop) must_be_up; for service; do stop "$service"; done ;;
load) must_be_up; use_binaries --cached; load "$@" ;;
credentials) use_binaries --cached; node_credentials "$@" ;;
*) sed -n '/^#!/d; /^#/!q; s/^# \?//p' "$0" >&2; exit 2 ;;
esac
