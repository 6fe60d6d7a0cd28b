#!/usr/bin/env bash
# Builds the SR-IOV device plugin (sriovdp) and CNI plugin (sriov) from the Go proxy, every
# module checked by its sum, and prints the folder that they are in. It is kept under
# ~/.cache/sinter by the hash of what they are built from.
set -euo pipefail
cd "$(dirname "$0")/../.."
source hack/lib/binaries.sh
export CGO_ENABLED=0
here=hack/sriov
binaries_in sriov $here/device-plugin $here/sriov-cni
lock
build sriovdp $here/device-plugin github.com/k8snetworkplumbingwg/sriov-network-device-plugin/cmd/sriovdp
build sriov $here/sriov-cni github.com/intel/sriov-cni/cmd/sriov
echo "$dir"
