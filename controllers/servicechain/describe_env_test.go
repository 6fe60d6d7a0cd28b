package servicechain_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// screen is how many lines a terminal has for a chain's status; a rollout, which ends, may take its seven lines on top.
const (
	screen          = 50
	screenOfRollout = screen + 7
)

// described are the lines that `kubectl describe` prints of fields: one for each value, and one above those of an object or a list.
func described(indent string, fields map[string]any) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch value := fields[name].(type) {
		case map[string]any:
			lines = append(append(lines, indent+name+":"), described(indent+"  ", value)...)
		case []any:
			lines = append(lines, indent+name+":")
			for _, item := range value {
				if inner, ok := item.(map[string]any); ok {
					lines = append(lines, described(indent+"  ", inner)...)
				} else {
					lines = append(lines, fmt.Sprint(indent, "  ", item))
				}
			}
		default:
			lines = append(lines, strings.Split(fmt.Sprintf("%s%s: %v", indent, name, value), "\n")...)
		}
	}
	return lines
}

// describe is what `kubectl describe` prints of edge from "Status:" on.
func (w *world) describe() []string {
	w.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.KindServiceChain))
	w.must(w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "edge"}, o))
	status, _, err := unstructured.NestedMap(o.Object, "status")
	w.must(err)
	return append([]string{"Status:"}, described("  ", status)...)
}

// works8 plays the agent of an instance that shares state: each of its eight CPUs owns every eighth of its shards, so that no two are one range.
func (w *world) works8(name string) {
	w.Helper()
	w.report(name, func(i *v1alpha1.ChainInstance) {
		balanced := i.Status.Conditions[0]
		balanced.Type, balanced.Reason, balanced.Message = v1alpha1.ConditionBalanced, v1alpha1.ReasonBalancing, "shards are kept on cores by their load"
		i.Status.Conditions = append(i.Status.Conditions, balanced)
		i.Status.LostSessions = 5
		i.Status.Interfaces = []v1alpha1.InterfaceMAC{{Name: "inside", MAC: v1alpha1.MACAddress("02:00:00:00:00:0" + name[len(name)-1:])}}
		i.Status.Shards = i.Spec.Groups[0].Shards
		own, err := shard.Parse(i.Status.Shards)
		w.must(err)
		owners := make([]shard.Set, 8)
		for n := range own.All() {
			owners[n%8].Add(n)
		}
		group := v1alpha1.GroupStatus{Name: shard.GroupAll, Work: slices.Repeat([]int32{40}, shard.Count)}
		for cpu, set := range owners {
			i.Status.Cores = append(i.Status.Cores, v1alpha1.CoreStatus{LCore: int32(cpu), LoadPercent: 64})
			group.Owners = append(group.Owners, v1alpha1.CoreShards{LCore: int32(cpu), LoadPercent: 64, Shards: shard.Text[v1alpha1.ShardRange](set)})
		}
		i.Status.Groups = []v1alpha1.GroupStatus{group}
		i.Status.Dispatch = nil
		for _, on := range []v1alpha1.Name{"inside", "outside"} {
			i.Status.Dispatch = append(i.Status.Dispatch, v1alpha1.InterfaceDispatch{
				Interface: on, Dispatcher: v1alpha1.DispatcherSoftware, Reason: `net_af_packet offers neither flow rules ("Function not implemented") nor RSS`,
			})
		}
	})
}

func TestTheStatusOfALargeChainFitsOneScreen(t *testing.T) {
	const large = "  scaling: {instances: 3, maxInstances: 3, minCores: 8, maxCores: 8}\n"
	w := newWorld(t)
	instances := []string{"edge-0", "edge-1", "edge-2"}
	for _, node := range instances {
		w.nodeWith(node, "16")
	}
	w.apply(edge(443, large, quickRollout))
	w.settle()
	w.startPods()
	for range 2 { // the second time knowing their peers
		for _, name := range instances {
			w.works8(name)
		}
		w.settle()
	}
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "3 instances")
	if s := w.chain("edge").Status; s.Cores != 24 || s.Instances != 3 || s.Front != "edge-0" || s.LostSessions == 0 {
		t.Fatalf("the status is %+v, want three instances with 24 cores, and every field", s)
	}
	if lines := w.describe(); len(lines) > screen {
		t.Errorf("kubectl describe prints %d lines of the status, want %d at most:\n%s", len(lines), screen, strings.Join(lines, "\n"))
	}

	w.apply(edge(8443, large, quickRollout))
	w.settle()
	w.works8("edge-0")
	w.settle()
	if ro := w.chain("edge").Status.Rollout; ro == nil || ro.AppliedTime.IsZero() {
		t.Fatalf("the rollout is %+v, want edge-0 to be observed", ro)
	}
	if lines := w.describe(); len(lines) > screenOfRollout {
		t.Errorf("during a rollout kubectl describe prints %d lines of the status, want %d at most:\n%s", len(lines), screenOfRollout, strings.Join(lines, "\n"))
	}
}
