#!/usr/bin/env bash
# Puts kubectl into bin/ and says how to go on.
set -euo pipefail
cd "$(dirname "$0")/../.."
source hack/cluster/settings.sh
mkdir -p bin
ln -sf "$(hack/cluster/binaries.sh --cached)/kubectl" bin/kubectl
cat <<EOF

The cluster runs. In this folder:
  export PATH=\$PWD/bin:\$PATH KUBECONFIG=$kubeconfigs/admin
  helm install sinter charts/sinter --namespace sinter-system --create-namespace --wait
  kubectl apply -f config/samples/networks -f config/samples/edge.yaml
  kubectl describe servicechain edge
make cluster-down takes it down.
EOF
