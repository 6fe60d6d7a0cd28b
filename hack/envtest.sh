#!/usr/bin/env bash
# Builds the kube-apiserver and the etcd that envtest starts, from the Go proxy
# (every module checked by its sum), and prints the folder that they are in: what
# KUBEBUILDER_ASSETS wants. They are kept under ~/.cache/sinter by the hash of what
# they are built from, so only the first run takes minutes. With --cached, only
# what is there already is used.
set -euo pipefail
cd "$(dirname "$0")/.."
source hack/lib/binaries.sh
export CGO_ENABLED=0

binaries_in envtest hack/envtest/apiserver hack/envtest/etcd
if [[ ${1:-} == --cached ]]; then
  have kube-apiserver etcd || { echo "no envtest binaries in $dir; make test-envtest builds them" >&2; exit 1; }
else
  lock
  build etcd hack/envtest/etcd go.etcd.io/etcd/server/v3
  build kube-apiserver hack/envtest/apiserver k8s.io/kubernetes/cmd/kube-apiserver "$(kubernetes_flags hack/envtest/apiserver)"
fi
echo "$dir"
