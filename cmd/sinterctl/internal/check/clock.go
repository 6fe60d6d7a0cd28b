package check

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/clocks"
)

// nodeClocks compares the nodes' clocks with the API server's: a kubelet writes its own time into its lease.
func (i *inspection) nodeClocks(ctx context.Context) {
	const check = "NodeClocks"
	if !i.timed {
		i.add(Unknown, check, "the API server does not say its time", "ask it without a proxy that removes the header Date")
		return
	}
	var leases coordinationv1.LeaseList
	if err := i.Client.List(ctx, &leases, client.InNamespace(corev1.NamespaceNodeLease)); err != nil {
		i.unknown(check, "list leases in namespace "+corev1.NamespaceNodeLease, err)
		return
	}
	at := i.Now().Add(i.ahead)
	of := map[string]*coordinationv1.Lease{}
	for k := range leases.Items {
		if l := &leases.Items[k]; l.Spec.RenewTime != nil {
			of[l.Name] = l
		}
	}
	var wrong []string
	known := 0
	for _, n := range i.nodes {
		lease := of[n.Name]
		if lease == nil {
			continue
		}
		known++
		if text := clocks.Node(lease, at); text != "" {
			wrong = append(wrong, fmt.Sprintf("%s (%s)", n.Name, text))
		}
	}
	switch {
	case len(wrong) > 0:
		i.add(Error, check, "clocks differ from the API server's, so that certificates and tokens may be refused: "+names(wrong), "set the node's clock and keep it right: timedatectl set-ntp true, or chrony (chronyc tracking)")
	case known == 0:
		i.add(Unknown, check, "no node has a lease in namespace "+corev1.NamespaceNodeLease, "compare clocks on the nodes: date -u")
	default:
		i.ok(check, "the clocks of %s have the API server's time", count(known, "node"))
	}
}
