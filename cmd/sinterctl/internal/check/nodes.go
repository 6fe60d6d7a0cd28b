package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// node is a node that chains may run on.
type node struct{ *corev1.Node }

// need is the least that an instance of any chain asks of a node.
type need struct {
	hugepages resource.Quantity // of 2 MiB: engines take no others
	cores     int64
}

const pages = corev1.ResourceHugePagesPrefix + "2Mi"

// agentShare is what the agent takes of the CPUs beside the engine's, in thousandths.
const agentShare = 50

// checkNodes tells what nodes offer to engines.
func (i *inspection) checkNodes(ctx context.Context) {
	var list corev1.NodeList
	if err := i.Client.List(ctx, &list); err != nil {
		i.unknown("Nodes", "list nodes", err)
		return
	}
	slices.SortFunc(list.Items, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	var others, down []string
	for k := range list.Items {
		n := node{&list.Items[k]}
		why := i.unfit(n)
		if why == "" {
			i.nodes = append(i.nodes, n)
			continue
		}
		others = append(others, n.Name+" "+why)
		if why == notReady {
			down = append(down, n.Name+" "+why)
		}
	}
	if len(i.nodes) == 0 {
		i.add(Error, "Nodes", "no node can take a chain: "+names(others), "have a node that is Ready, not cordoned and not tainted, or give the chain's spec.placement tolerations: kubectl get nodes")
		return
	}
	if message := count(len(i.nodes), "node") + " may run chains"; len(down) > 0 {
		i.add(Warning, "Nodes", message+", not "+names(down), "see why the kubelet does not report: kubectl describe node, and on the node journalctl -u kubelet")
	} else if len(others) > 0 {
		i.ok("Nodes", "%s, not %s", message, names(others))
	} else {
		i.ok("Nodes", "%s", message)
	}
	i.nodeClocks(ctx)
	i.offers()
	i.cpuManager(ctx)
}

const notReady = "(not Ready)"

// unfit is why no chain can run on a node; empty: one can. Without chains it is judged by one that asks for nothing special.
func (i *inspection) unfit(n node) string {
	if !slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}) {
		return notReady
	}
	if n.Spec.Unschedulable {
		return "(cordoned)"
	}
	why := ""
	for _, p := range i.placements() {
		if why = n.refuses(&p); why == "" {
			return ""
		}
	}
	return why
}

func (i *inspection) placements() (list []v1alpha1.Placement) {
	for k := range i.chains {
		list = append(list, i.chains[k].Spec.Placement)
	}
	if len(list) == 0 {
		return []v1alpha1.Placement{{}}
	}
	return list
}

func (n node) refuses(p *v1alpha1.Placement) string {
	if p.NodeName != "" && p.NodeName != n.Name {
		return "(no chain selects it)"
	}
	for key, value := range p.NodeSelector {
		if n.Labels[key] != value {
			return "(no chain selects it)"
		}
	}
	for k := range n.Spec.Taints {
		t := &n.Spec.Taints[k]
		if t.Effect != corev1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(p.Tolerations, func(o corev1.Toleration) bool {
			return o.ToleratesTaint(logr.Discard(), t, false)
		}) {
			return "(taint " + t.ToString() + ")"
		}
	}
	return ""
}

// least is what the least demanding chain needs; without chains, what one does that says nothing of it.
func (i *inspection) least() need {
	out := need{(&v1alpha1.Resources{}).EngineHugepages(), 1}
	for k := range i.chains {
		s := &i.chains[k].Spec
		hugepages := s.Resources.EngineHugepages()
		cores := int64(max(1, s.Scaling.MinCores, s.Scaling.MaxCores))
		if k == 0 {
			out = need{hugepages, cores}
			continue
		}
		if hugepages.Cmp(out.hugepages) < 0 {
			out.hugepages = hugepages
		}
		out.cores = min(out.cores, cores)
	}
	return out
}

// offers tells how many nodes have hugepages and CPUs enough.
func (i *inspection) offers() {
	least := i.least()
	var poor, small []string
	for _, n := range i.nodes {
		has := n.Status.Allocatable[pages]
		if has.Cmp(least.hugepages) < 0 {
			poor = append(poor, fmt.Sprintf("%s (%s)", n.Name, has.String()))
		}
		if cpus := n.Status.Allocatable.Cpu(); cpus.MilliValue() < least.cores*1000+agentShare {
			small = append(small, fmt.Sprintf("%s (%s)", n.Name, cpus))
		}
	}
	i.some("Hugepages", fmt.Sprintf("%s of hugepages of 2 MiB", least.hugepages.String()), poor,
		fmt.Sprintf("on such a node run sysctl -w vm.nr_hugepages=%d, keep that in /etc/sysctl.d, and restart the kubelet", least.hugepages.Value()>>21))
	i.some("CPUs", fmt.Sprintf("%s and %dm for the agent", count(int(least.cores), "whole CPU"), agentShare), small,
		"add CPUs, or reserve fewer of them for the system (reservedSystemCPUs of the kubelet)")
}

// some says how many nodes have what is needed, given those that lack it.
func (i *inspection) some(check, what string, lacking []string, remedy string) {
	switch has := len(i.nodes) - len(lacking); {
	case has == 0:
		i.add(Error, check, fmt.Sprintf("no node has %s: %s", what, names(lacking)), remedy)
	case len(lacking) > 0:
		i.ok(check, "%d of %s have %s, not %s", has, count(len(i.nodes), "node"), what, names(lacking))
	default:
		i.ok(check, "%s, each with %s or more", count(has, "node"), what)
	}
}
