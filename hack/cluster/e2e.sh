#!/usr/bin/env bash
# Runs the end-to-end suite on the cluster; arguments go to `go test`. Where none is up it
# first checks that one leaves nothing behind, and then brings it up.
set -euo pipefail
cd "$(dirname "$0")/../.."
source hack/cluster/settings.sh
binaries=$(hack/cluster/binaries.sh --cached)
export PATH=$PWD/bin:$binaries:$PWD/.deps/go/bin:$PATH KUBECONFIG=$kubeconfigs/admin SINTER_E2E=1

if [[ ! -e $state/init.pid ]]; then
  SINTER_E2E_LEFTOVERS=1 go test -count=1 "$@" -run TestTakingTheClusterDown ./test/e2e
  hack/cluster/cluster.sh up
  hack/cluster/images.sh
fi
kubectl get --raw /readyz >/dev/null || { echo "the cluster does not answer: make cluster-down, then try again" >&2; exit 1; }
hack/cluster/program.sh sinter.test/traffic:1 ./test/e2e/traffic
hack/cluster/suricata.sh sinter.test/suricata:7
for tool in tcpdump nft sysctl haproxy; do
  hack/cluster/tool.sh sinter.test/$tool:1 $tool
done
hack/cluster/tool.sh sinter.test/testpmd:1 dpdk-testpmd /usr/lib/x86_64-linux-gnu/librte_{net_memif,mempool_ring}.so.23
helm upgrade --install sinter charts/sinter --namespace sinter-system --create-namespace --wait --timeout 2m \
  --set 'operator.allowImages={sinter.test/,localhost:1/}' >/dev/null
go test -count=1 -p 1 -timeout 40m "$@" ./test/e2e
