// Package agenttest has what tests of the agent's packages stand on: engines that need no privileges, a fake cluster, programs and traffic.
package agenttest
