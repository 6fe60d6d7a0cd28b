// Package e2e is the end-to-end suite: the operator, the agent and the engine on a real
// cluster, with hosts whose packets go through the chain of config/samples/edge.yaml.
// `make e2e` prepares the cluster and runs it; without that, its tests are skipped.
package e2e
