#!/usr/bin/env bash
# Builds what the cluster consists of from the Go proxy (every module checked by
# its sum), and prints the folder that it is in:
#   kubelet, kubectl, kube-apiserver, etcd, containerd, runc, coredns, …   and   cni/
# It is kept under ~/.cache/sinter by the hash of what it is built from: the first
# time takes some twenty minutes on two cores. With --cached, only what is there
# already is used.
set -euo pipefail
cd "$(dirname "$0")/../.."
source hack/lib/binaries.sh
export CGO_ENABLED=0

here=hack/cluster
kubernetes=(kubelet kube-controller-manager kube-scheduler kube-proxy kubectl)
containerd=(containerd containerd-shim-runc-v2 ctr)
plugins=(main/{bridge,host-device,loopback,macvlan,ptp} ipam/{host-local,static})

control_plane=(hack/envtest/apiserver hack/envtest/etcd)
binaries_in cluster "${control_plane[@]}" $here/{cni,containerd,coredns,kubernetes,multus,runc}
if [[ ${1:-} == --cached ]]; then
  have "${kubernetes[@]}" kube-apiserver etcd runc "${containerd[@]}" coredns cni/multus "${plugins[@]/#*\//cni/}" ||
    { echo "no cluster binaries in $dir; make cluster builds them" >&2; exit 1; }
  echo "$dir"
  exit
fi

lock
mkdir -p "$dir/cni"
assets=$(hack/envtest.sh)
ln -f "$assets"/{kube-apiserver,etcd} "$dir/"
for binary in "${kubernetes[@]}"; do
  build "$binary" $here/kubernetes "k8s.io/kubernetes/cmd/$binary" "$(kubernetes_flags $here/kubernetes)"
done
for binary in "${containerd[@]}"; do
  build "$binary" $here/containerd "github.com/containerd/containerd/v2/cmd/$binary"
done
for plugin in "${plugins[@]}"; do
  build "cni/${plugin#*/}" $here/cni "github.com/containernetworking/plugins/plugins/$plugin"
done
build cni/multus $here/multus gopkg.in/k8snetworkplumbingwg/multus-cni.v4/cmd/multus
build coredns $here/coredns .
# runc enters namespaces in C, before Go starts; seccomp is what pods ask for.
CGO_ENABLED=1 GOFLAGS="${GOFLAGS:-} -tags=seccomp" build runc $here/runc github.com/opencontainers/runc
echo "$dir"
