package check

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// late is how old a lease of a node that is Ready may be. Kubelets renew theirs every 10 s, and are given up after 50 s, and 40 s before Kubernetes 1.32.
const late = time.Minute

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
	renewed := map[string]time.Time{}
	for k := range leases.Items {
		if t := leases.Items[k].Spec.RenewTime; t != nil {
			renewed[leases.Items[k].Name] = t.Time
		}
	}
	var wrong []string
	known := 0
	for _, n := range i.nodes {
		t, ok := renewed[n.Name]
		if !ok {
			continue
		}
		known++
		// The API server's time is known to a second.
		if ahead := t.Sub(at); ahead > skew+time.Second {
			wrong = append(wrong, fmt.Sprintf("%s (%s ahead)", n.Name, ahead.Round(time.Second)))
		} else if age := at.Sub(t); age > late {
			wrong = append(wrong, fmt.Sprintf("%s (%s behind)", n.Name, age.Round(time.Second)))
		}
	}
	switch {
	case len(wrong) > 0:
		i.add(Error, check, "clocks differ from the API server's, so agents cannot report: "+names(wrong), "set the node's clock and keep it right: timedatectl set-ntp true, or chrony (chronyc tracking)")
	case known == 0:
		i.add(Unknown, check, "no node has a lease in namespace "+corev1.NamespaceNodeLease, "compare clocks on the nodes: date -u")
	default:
		i.ok(check, "the clocks of %s have the API server's time", count(known, "node"))
	}
}
