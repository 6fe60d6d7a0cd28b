#!/usr/bin/env bash
# Builds the pinned helm and kustomize into bin/. Linked without these flags, helm
# would say of itself that it is v3 for Kubernetes 1.20, and refuse the chart.
set -euo pipefail
cd "$(dirname "$0")"
export PATH=$PWD/../../.deps/go/bin:$PATH CGO_ENABLED=0

version_of() { go list -m -f '{{.Version}}' "$1"; }
helm=helm.sh/helm/v3
minor=$(version_of k8s.io/client-go | cut -d. -f2)
flags="-s -w -X $helm/internal/version.version=$(version_of $helm)"
for package in lint/rules chartutil; do
  flags+=" -X $helm/pkg/$package.k8sVersionMajor=1 -X $helm/pkg/$package.k8sVersionMinor=$minor"
done
go build -ldflags "$flags" -o ../../bin/ tool
