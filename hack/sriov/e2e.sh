#!/usr/bin/env bash
# Runs the tests of test/sriov on the guest that `make sriov-node` has booted, then takes guest and
# cluster down; KEEP=1 leaves them. Arguments go to `go test`.
set -euo pipefail
cd "$(dirname "$0")"
source settings.sh
cd ../..
[[ -S $state/agent.sock ]] || { echo "no guest: make sriov-node boots it" >&2; exit 1; }
end() {
  [[ -z ${KEEP:-} ]] || return 0
  hack/sriov/node.sh down
  hack/cluster/cluster.sh down
}
trap end EXIT
binaries=$(hack/cluster/binaries.sh --cached)
export PATH=$PWD/bin:$binaries:$PWD/.deps/go/bin:$PATH KUBECONFIG=$kubeconfigs/admin SINTER_SRIOV=$state
helm upgrade --install sinter charts/sinter --namespace sinter-system --create-namespace --wait --timeout 5m >/dev/null
go test -count=1 -p 1 -timeout 40m "$@" ./test/sriov
