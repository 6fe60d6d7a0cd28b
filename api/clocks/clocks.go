// Package clocks tells whose clock is wrong.
package clocks

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// Skew is by how much clocks may differ: more than a message takes, and less than certificates and leases stand.
const Skew = 5 * time.Second

// late is how old the lease of a node that is Ready may be. Kubelets renew theirs every 10 s, and are given up after 50 s, and 40 s before Kubernetes 1.32.
const late = time.Minute

// Node says what is wrong with the clock of a node that is Ready, such as "2m0s ahead"; empty: nothing. lease is the node's, in namespace
// kube-node-lease: its kubelet writes the node's time into it. now is the right time, to a second.
func Node(lease *coordinationv1.Lease, now time.Time) string {
	if lease.Spec.RenewTime == nil {
		return ""
	}
	switch ahead := lease.Spec.RenewTime.Sub(now); {
	case ahead > Skew+time.Second:
		return fmt.Sprintf("%s ahead", ahead.Round(time.Second))
	case -ahead > late:
		return fmt.Sprintf("%s behind", -ahead.Round(time.Second))
	}
	return ""
}
