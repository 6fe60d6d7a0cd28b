package chaininstance

import (
	"context"
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/placement"
)

// nodeNameField indexes pods by their node.
const nodeNameField = "spec.nodeName"

func (s *scope) related() runtime.Object {
	if s.pod == nil {
		return nil
	}
	return s.pod
}

// place asks nodes for room. What it reads is the cache's own, and only read.
func (r *Reconciler) place(ctx context.Context, s *scope) (placement.Decision, error) {
	spec := &s.instance.Spec
	var nodes corev1.NodeList
	selector := labels.SelectorFromSet(spec.Placement.NodeSelector)
	if spec.Placement.NodeName != "" {
		selector = labels.Everything() // should a label be missing of the node that is named, that is told
	}
	if err := r.Client.List(ctx, &nodes, client.MatchingLabelsSelector{Selector: selector}, client.UnsafeDisableDeepCopy); err != nil {
		return placement.Decision{}, fmt.Errorf("list Nodes: %w", err)
	}
	var instances v1alpha1.ChainInstanceList
	if err := r.Client.List(ctx, &instances, client.UnsafeDisableDeepCopy); err != nil {
		return placement.Decision{}, fmt.Errorf("list ChainInstances: %w", err)
	}
	var undecided corev1.PodList
	if err := r.Client.List(ctx, &undecided, client.MatchingFields{nodeNameField: ""}, client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentDataPlane}); err != nil {
		return placement.Decision{}, fmt.Errorf("list Pods: %w", err)
	}
	unseen, err := r.recent.unseen(ctx, r.Client, s.now)
	if err != nil {
		return placement.Decision{}, fmt.Errorf("recently created pods: %w", err)
	}
	asked := &nodeFacts{ctx: ctx, client: r.Client, nodes: nodes.Items, tolerations: spec.Placement.Tolerations, busy: busyCores(instances.Items), promised: promised(append(undecided.Items, unseen...))}
	var siblings corev1.PodList
	if err := r.Client.List(ctx, &siblings, client.InNamespace(s.instance.Namespace), client.MatchingLabels{v1alpha1.LabelChain: spec.Chain}); err != nil {
		return placement.Decision{}, fmt.Errorf("list Pods of chain %s: %w", spec.Chain, err)
	}
	request := requestOf(s.instance, siblings.Items)
	// The attempt: another choice each time that the nodes are asked again.
	attempt := s.now.Truncate(askAgainAfter).UTC().String()
	decision := placement.Place(asked, request, placement.Random(string(s.instance.UID), attempt))
	return decision, asked.err
}

// requestOf is what an instance needs.
func requestOf(i *v1alpha1.ChainInstance, siblings []corev1.Pod) placement.Request {
	hugepages, memory := i.Spec.Resources.EngineHugepages(), i.Spec.Resources.EngineMemory()
	memory.Add(agentResourcesOf(&i.Spec)[corev1.ResourceMemory])
	functionCores, functionMemory := functionNeeds(&i.Spec)
	memory.Add(functionMemory)
	req := placement.Request{
		Node: i.Spec.Placement.NodeName, Selector: i.Spec.Placement.NodeSelector, Cores: int(i.Spec.Cores) + functionCores, Memory: memory.Value(), Candidates: 2,
		Hugepages: placement.Hugepages{PageSize: 2 << 20, Bytes: hugepages.Value()},
	}
	for _, n := range i.Spec.Interfaces {
		req.Interfaces = append(req.Interfaces, placement.Interface{Name: string(n.Name), Resource: n.ResourceName})
		req.Aligned = req.Aligned || n.ResourceName != ""
	}
	if i.Spec.Placement.Spread == v1alpha1.SpreadNone {
		return req
	}
	for k := range siblings {
		if p := &siblings[k]; p.Name != i.Name && p.Spec.NodeName != "" {
			req.Used = append(req.Used, p.Spec.NodeName)
		}
	}
	return req
}

// busyCores is the work of data-plane cores by node, in cores.
func busyCores(instances []v1alpha1.ChainInstance) map[string]float64 {
	busy := map[string]float64{}
	for k := range instances {
		i := &instances[k]
		if i.Status.Node == "" {
			continue
		}
		for _, c := range i.Status.Cores {
			busy[i.Status.Node] += float64(c.LoadPercent) / 100
		}
		busy[i.Status.Node] += float64(max(0, int(i.Spec.Cores)-len(i.Status.Cores)))
	}
	return busy
}

// promised are the pods that are not bound yet, by the node that they will most likely come to.
func promised(pods []corev1.Pod) map[string][]corev1.Pod {
	out := map[string][]corev1.Pod{}
	for _, p := range pods {
		if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil {
			continue
		}
		best, weight := "", int32(math.MinInt32)
		for _, t := range p.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			if f := t.Preference.MatchFields; t.Weight > weight && len(f) == 1 && len(f[0].Values) == 1 {
				best, weight = f[0].Values[0], t.Weight
			}
		}
		out[best] = append(out[best], p)
	}
	return out
}

// nodeFacts tells of nodes what placement asks. What it costs to know what is free is paid for the few that are asked.
type nodeFacts struct {
	ctx         context.Context
	client      client.Reader
	nodes       []corev1.Node
	tolerations []corev1.Toleration
	busy        map[string]float64
	promised    map[string][]corev1.Pod
	err         error
}

func (f *nodeFacts) Len() int          { return len(f.nodes) }
func (f *nodeFacts) Name(i int) string { return f.nodes[i].Name }

func (f *nodeFacts) Ask(i int) placement.Node {
	n := &f.nodes[i]
	var pods corev1.PodList
	if err := f.client.List(f.ctx, &pods, client.MatchingFields{nodeNameField: n.Name}, client.UnsafeDisableDeepCopy); err != nil {
		f.err = fmt.Errorf("list Pods of node %s: %w", n.Name, err)
	}
	free := n.Status.Allocatable.DeepCopy()
	for _, p := range append(pods.Items, f.promised[n.Name]...) {
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		for name, q := range requests(&p) {
			rest := free[name]
			rest.Sub(q)
			free[name] = rest
		}
	}
	// An agent comes with the cores.
	whole := (free.Cpu().MilliValue() - agentResources.Cpu().MilliValue()) / 1000
	cores := int(n.Status.Allocatable.Cpu().MilliValue() / 1000)
	out := placement.Node{
		Name: n.Name, Labels: n.Labels, NotReady: !nodeReady(n), Cordoned: n.Spec.Unschedulable, Taint: f.taint(n),
		CPUManagerPolicy: n.Labels[v1alpha1.LabelCPUManager], TopologyPolicy: n.Labels[v1alpha1.LabelTopologyManager],
		Cores: cores, FreeCores: int(max(0, whole)), FreeMemory: free.Memory().Value(),
		FreeHugepages: map[int64]int64{}, FreeDevices: map[string]int64{},
	}
	if cores > 0 {
		out.Load = min(f.busy[n.Name]/float64(cores), 1)
	}
	for name, q := range free {
		if size, ok := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix); ok {
			if page, err := resource.ParseQuantity(size); err == nil {
				out.FreeHugepages[page.Value()] = q.Value()
			}
		} else if strings.Contains(string(name), "/") {
			out.FreeDevices[string(name)] = q.Value()
		}
	}
	return out
}

// requests is what a pod asks of its node.
func requests(p *corev1.Pod) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for i := range p.Spec.Containers {
		for name, q := range p.Spec.Containers[i].Resources.Requests {
			have := sum[name]
			have.Add(q)
			sum[name] = have
		}
	}
	for i := range p.Spec.InitContainers {
		init := &p.Spec.InitContainers[i]
		for name, q := range init.Resources.Requests {
			have := sum[name]
			if init.RestartPolicy != nil && *init.RestartPolicy == corev1.ContainerRestartPolicyAlways {
				have.Add(q) // a sidecar, beside the others
			} else if have.Cmp(q) < 0 {
				have = q.DeepCopy()
			}
			sum[name] = have
		}
	}
	return sum
}

func nodeReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// taint is the first taint that keeps the pod away.
func (f *nodeFacts) taint(n *corev1.Node) string {
	log := ctrl.LoggerFrom(f.ctx)
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		if t.Effect == corev1.TaintEffectPreferNoSchedule || t.Key == corev1.TaintNodeUnschedulable || t.Key == corev1.TaintNodeNotReady {
			continue // told as what they stand for
		}
		tolerated := false
		for k := range f.tolerations {
			tolerated = tolerated || f.tolerations[k].ToleratesTaint(log, t, false)
		}
		if !tolerated {
			return t.ToString()
		}
	}
	return ""
}
