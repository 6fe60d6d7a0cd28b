#!/usr/bin/env bash
# Builds the kube-apiserver and the etcd that envtest starts, from the Go proxy
# (every module checked by its sum), and prints the folder that they are in: what
# KUBEBUILDER_ASSETS wants. They are kept under ~/.cache/sinter by the hash of what
# they are built from, so only the first run takes minutes. With --oldest, the API
# server is that of the oldest Kubernetes that Sinter supports, with the same etcd.
# With --cached, only what is there already is used.
set -euo pipefail
cd "$(dirname "$0")/.."
source hack/lib/binaries.sh
export CGO_ENABLED=0

server=hack/envtest/apiserver target=test-envtest cached=
for argument; do
  case $argument in
  --oldest) server=hack/envtest/apiserver-oldest target=test-oldest ;;
  --cached) cached=1 ;;
  *) echo "usage: hack/envtest.sh [--oldest] [--cached]" >&2; exit 2 ;;
  esac
done

binaries_in envtest "$server" hack/envtest/etcd
if [[ $cached ]]; then
  have kube-apiserver etcd || { echo "no envtest binaries in $dir; make $target builds them" >&2; exit 1; }
else
  lock
  build etcd hack/envtest/etcd go.etcd.io/etcd/server/v3
  build kube-apiserver "$server" k8s.io/kubernetes/cmd/kube-apiserver "$(kubernetes_flags "$server")"
fi
echo "$dir"
