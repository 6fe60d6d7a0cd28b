# The cluster's daemons: how each is started, ready and stopped. To be sourced after
# settings.sh, with $binaries set.

services=(etcd kube-apiserver containerd kube-controller-manager kube-scheduler kubelet kube-proxy coredns)

# inside runs a command in the cluster's namespaces. The shell that waits for it is only half there: its
# children are in the PID namespace, so it must not do anything itself, as its own "kill" would. (nsenter
# could wait, but it stops with a child that is stopped, and nobody would tell it to go on.)
inside() { enter bash -c 'env "$@"; exit' inside "$@"; }
enter() { nsenter --target "$(cat "$state/init.pid")" --mount --pid --net --no-fork -- "$@"; }

# daemon has the first process in there start a command, in the daemons' cgroup, with a log and a file with its PID (as seen inside).
daemon() { # name, command…
  local name=$1
  shift
  cat >"$state/daemon/$name" <<EOF
for procs in /sys/fs/cgroup/{,*/}$cgroup/system/cgroup.procs; do [[ ! -e \$procs ]] || echo \$\$ >"\$procs"; done
echo \$\$ >$state/pid/$name
exec ${*@Q}
EOF
  echo "$name" >"$state/orders"
}

pid_of() { cat "$state/pid/$1" 2>/dev/null || echo 0; }
runs() { inside grep -qs "/$1" "/proc/$(pid_of "$1")/cmdline"; }

stop() { # name
  runs "$1" || return 0
  local i
  inside kill "$(pid_of "$1")"
  for i in $(seq 100); do runs "$1" || return 0; sleep 0.1; done
  inside kill -KILL "$(pid_of "$1")"
}

# wait_for tries a command until it succeeds, for a minute.
wait_for() { # what, command…
  local what=$1 deadline=$((SECONDS + 60))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < deadline)) || { echo "the cluster's $what is not ready after a minute; logs are in $logs" >&2; return 1; }
    sleep 0.2
  done
}

start() { # name
  runs "$1" || "start_$1"
}

start_etcd() {
  # No fsync: what a crash of the machine would lose, nobody misses.
  daemon etcd "$binaries/etcd" --data-dir "$state/etcd" --unsafe-no-fsync \
    --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
    --listen-peer-urls http://127.0.0.1:2380
}

start_kube-apiserver() {
  daemon kube-apiserver "$binaries/kube-apiserver" --etcd-servers=http://127.0.0.1:2379 \
    --advertise-address=$node_address --secure-port=6443 --service-cluster-ip-range=$service_range \
    --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" --client-ca-file="$pki/ca.crt" \
    --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged \
    --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$pki/sa.pub" --service-account-signing-key-file="$pki/sa.key" \
    --kubelet-client-certificate="$pki/apiserver-kubelet.crt" --kubelet-client-key="$pki/apiserver-kubelet.key" \
    --kubelet-certificate-authority="$pki/ca.crt" --kubelet-preferred-address-types=InternalIP
  wait_for "API server" kubectl get --raw /readyz
}

start_containerd() {
  cat >"$state/containerd.toml" <<EOF
version = 3
root = "$state/containerd"
disabled_plugins = ["io.containerd.nri.v1.nri"]
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "$pause_image"
[plugins."io.containerd.cri.v1.images".registry]
  config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.cri.v1.runtime"]
  # Machines that are guests themselves may lack the right to lower the score of the OOM killer.
  restrict_oom_score_adj = true
  disable_hugetlb_controller = false
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["$binaries/cni"]
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  BinaryName = "$binaries/runc"
EOF
  daemon containerd env PATH="$binaries:$PATH" "$binaries/containerd" --config "$state/containerd.toml"
  wait_for containerd inside "$binaries/ctr" version
}

start_kube-controller-manager() {
  daemon kube-controller-manager "$binaries/kube-controller-manager" --kubeconfig="$kubeconfigs/kube-controller-manager" \
    --service-account-private-key-file="$pki/sa.key" --root-ca-file="$pki/ca.crt" \
    --use-service-account-credentials --leader-elect=false
}

start_kube-scheduler() {
  daemon kube-scheduler "$binaries/kube-scheduler" --kubeconfig="$kubeconfigs/kube-scheduler" --leader-elect=false
}

start_kubelet() {
  cat >"$state/node/kubelet.yaml" <<EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /$cgroup
failCgroupV1: false
failSwapOn: false
cpuManagerPolicy: static
topologyManagerPolicy: single-numa-node
# The static policy keeps whole CPUs back for this, the first ones; the rest of them is for ordinary pods.
systemReserved: {cpu: 500m}
clusterDNS: [$node_address]
clusterDomain: cluster.local
resolvConf: ""
tlsCertFile: $state/node/kubelet.crt
tlsPrivateKeyFile: $state/node/kubelet.key
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $pki/ca.crt}}
authorization: {mode: Webhook}
# The machine's disk and memory are not the cluster's own: fuller than this is for others to mind.
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
EOF
  daemon kubelet env PATH="$binaries:$PATH" "$binaries/kubelet" --config="$state/node/kubelet.yaml" --kubeconfig="$state/node/kubelet" \
    --hostname-override=$node --node-ip=$node_address \
    --node-labels=nfv.sinter.dev/cpu-manager-policy=static,nfv.sinter.dev/topology-manager-policy=single-numa-node
}

start_kube-proxy() {
  daemon kube-proxy "$binaries/kube-proxy" --kubeconfig="$kubeconfigs/kube-proxy" --hostname-override=$node \
    --proxy-mode=nftables --cluster-cidr=$pod_range --conntrack-max-per-core=0 --conntrack-min=0
}

start_coredns() {
  cat >"$state/Corefile" <<EOF
. {
  bind $node_address
  errors
  cache 5
  kubernetes cluster.local {
    kubeconfig $kubeconfigs/coredns
  }
}
EOF
  daemon coredns "$binaries/coredns" -conf "$state/Corefile"
}
