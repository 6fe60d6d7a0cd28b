// Package chart tests the Helm chart and the kustomize layout: what they render against golden files, Kubernetes' own
// types and the operator's roles, and the life of a release against a real API server.
//
// Helm and kustomize are those that `make chart-tools` builds, the API server that of `make test-envtest`; a test whose
// tools are missing is skipped and says so.
package chart
