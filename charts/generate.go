// Package charts is the Helm chart's folder. Its CRDs are templates made from
// config/crd, which the packages of the API write before.
package charts

//go:generate ../hack/chart/crds.sh
