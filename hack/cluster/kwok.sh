#!/usr/bin/env bash
# Builds kwok, which plays the kubelets of fake nodes, and prints the folder that it
# is in, with stages.yaml: what kwok's makers think that such a kubelet does.
set -euo pipefail
cd "$(dirname "$0")/../.."
source hack/lib/binaries.sh
export CGO_ENABLED=0
binaries_in kwok hack/cluster/kwok
lock
build kwok hack/cluster/kwok sigs.k8s.io/kwok/cmd/kwok
if [[ ! -e $dir/stages.yaml ]]; then
  stages=$(cd hack/cluster/kwok && go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage
  for stage in node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease pod/fast/pod-ready pod/fast/pod-delete; do
    echo ---
    cat "$stages/$stage.yaml"
  done >"$dir/stages.new"
  mv "$dir/stages.new" "$dir/stages.yaml"
fi
echo "$dir"
