package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/cluster"
)

// readChains reads the chains of all namespaces, or if that is not allowed those of the user's.
func (i *inspection) readChains(ctx context.Context) {
	var list v1alpha1.ServiceChainList
	i.scope = "in all namespaces"
	err := i.Client.List(ctx, &list)
	if lacksRight(err) && i.Namespace != "" {
		i.scope = "in namespace " + i.Namespace
		err = i.Client.List(ctx, &list, client.InNamespace(i.Namespace))
	}
	i.chains, i.err = list.Items, err
	slices.SortFunc(i.chains, func(a, b v1alpha1.ServiceChain) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}

// checkChains tells which chains are not ready, by the word of their conditions.
func (i *inspection) checkChains() {
	if i.err != nil {
		i.unknown("Chain", "list servicechains", i.err)
		return
	}
	unready := 0
	for k := range i.chains {
		c := &i.chains[k]
		what := cluster.Awaited(c)
		if what == "" {
			continue
		}
		if unready++; unready <= most {
			i.add(severity(c), "Chain", fmt.Sprintf("%s/%s: %s", c.Namespace, c.Name, what), remedy(c))
		}
	}
	switch {
	case unready > most:
		i.add(Error, "Chain", fmt.Sprintf("and %d more are not ready", unready-most), "kubectl sinter status -A")
	case len(i.chains) == 0:
		i.ok("Chain", "no chain %s", i.scope)
	case unready == 0:
		i.ok("Chain", "%s %s, all ready", count(len(i.chains), "chain"), i.scope)
	}
}

// reason of a chain's condition Ready for its newest spec; empty: it has none yet.
func reason(c *v1alpha1.ServiceChain) string {
	k := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady)
	if k == nil || c.Status.ObservedGeneration != c.Generation {
		return ""
	}
	return k.Reason
}

// severity: a chain that changes is no error yet.
func severity(c *v1alpha1.ServiceChain) Result {
	switch reason(c) {
	case "", v1alpha1.ReasonRollingOut:
		return Warning
	}
	return Error
}

// said are remedies by what the engine, the agent or the kubelet said, which tell causes apart that have one reason.
var said = []struct{ words, remedy string }{
	{"group is not viable", "bind all devices of the IOMMU group to vfio-pci, or use a virtual function that has a group of its own: docs/sriov.md"},
	{"bind it to vfio-pci", "on the node: dpdk-devbind.py -b vfio-pci <address>, and see that it is done at each start: docs/sriov.md"},
	{"cannot be pulled", "give the chart the registry and tag that have the images (image.registry, image.tag), and the ServiceAccount default of the chain's namespace imagePullSecrets"},
	{"is Multus installed?", "see that Multus runs on the node (kubectl get daemonsets -A), and that its NetworkAttachmentDefinition exists"},
	{"annot init memory", "let the engine have hugepages: check vm.nr_hugepages of the node, and restart the kubelet after it was changed"},
	{"not yet valid", "set the node's clock and keep it right: timedatectl set-ntp true"},
}

// remedies are those of docs/operator.md by the reason of the condition Ready.
var remedies = map[string]string{
	"":                              "see that the operator runs, and wait: kubectl sinter status --wait",
	v1alpha1.ReasonRollingOut:       "wait: kubectl sinter status --wait",
	v1alpha1.ReasonWaitingForPods:   "wait; if it stays so, do what the event in the message says: kubectl describe pod",
	v1alpha1.ReasonInvalid:          "correct the field that the message names",
	v1alpha1.ReasonSynthesisFailed:  "write fewer rules, take routes from a store, or divide the chain",
	v1alpha1.ReasonTooLarge:         "write fewer rules, take routes from a store, or divide the chain",
	v1alpha1.ReasonInterfaceUnbound: "give the interface a networkRef, resourceName or resourceClaimTemplateName",
	v1alpha1.ReasonUnschedulable:    "see what the scheduler says: kubectl describe pod",
	v1alpha1.ReasonNotReported:      "read kubectl logs <pod> -c agent",
	v1alpha1.ReasonAgentNotReady:    "read kubectl logs <pod> -c agent; packets are forwarded meanwhile, and changes wait",
	v1alpha1.ReasonClockSkew:        "set the node's clock and keep it right: timedatectl set-ntp true, or chrony (chronyc tracking)",
	v1alpha1.ReasonContainerFailed:  "do what the message says; all of the log: kubectl logs <pod> -c engine --previous",
	v1alpha1.ReasonReplicaDown:      "start the replica, as flows of it go to the others meanwhile: docs/blackbox.md#several-that-share-the-load-replicas",
	v1alpha1.ReasonFunctionDown:     "start the blackbox (if it has an image, FunctionsRunning says why its container does not run), or see why frames of EtherType 0x88B6 do not pass it, or why its address does not answer ARP: docs/blackbox.md#when-the-function-is-down",
	v1alpha1.ReasonRolledBack:       "change the spec, or delete the ChainProgram to try it again",
	"TooFewHugepages":               "set vm.nr_hugepages higher on a node and restart its kubelet, or lower spec.resources.hugepages",
	"TooFewDevices":                 "create virtual functions on a node and have the SR-IOV device plugin offer them: docs/sriov.md",
	"CPUManagerNotStatic":           "set cpuManagerPolicy: static in the kubelet's configuration, and label the node: " + labelling,
	"TooFewCores":                   "lower spec.scaling.maxCores, or use nodes with more CPUs",
	"TooFewFreeCores":               "lower spec.scaling.maxCores, or move other pods off the node",
}

// remedy is what to do about a chain that is not ready.
func remedy(c *v1alpha1.ServiceChain) string {
	if k := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady); k != nil && k.Reason == v1alpha1.ReasonContainerFailed {
		for _, s := range said {
			if strings.Contains(k.Message, s.words) {
				return s.remedy
			}
		}
	}
	return cmp.Or(remedies[reason(c)], "do what the message says: docs/operator.md#conditions")
}
