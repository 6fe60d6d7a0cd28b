package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

type ranges = []v1alpha1.ShardRange

// on is a CPU that owns shards, with its load in percent.
func on(cpu, load int32, owned ...v1alpha1.ShardRange) v1alpha1.CoreShards {
	return v1alpha1.CoreShards{LCore: cpu, Shards: owned, LoadPercent: load}
}

// reported is an instance that is to have shards, and whose agent reports their owners.
func reported(name string, shared bool, wanted ranges, owners ...v1alpha1.CoreShards) v1alpha1.ChainInstance {
	i := wanting(name, shared, wanted)
	i.Status.Node, i.Status.AppliedHash, i.Status.LastReportTime = "node-"+name[len(name)-1:], "hash", ago(3*time.Second)
	addCondition(&i, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonForwarding, "")
	var has shard.Set
	for k, o := range owners {
		i.Status.Cores = append(i.Status.Cores, v1alpha1.CoreStatus{LCore: o.LCore, LoadPercent: o.LoadPercent, CyclesPerPacket: 80 + int32(k), Lost: int64(k)})
		set, err := shard.Parse(o.Shards)
		if err != nil {
			panic(err)
		}
		has = has.Or(set)
	}
	if len(wanted) > 0 {
		i.Status.Groups = []v1alpha1.GroupStatus{{Name: shard.GroupAll, Owners: owners}}
	}
	if shared {
		i.Status.Shards = shard.Text[v1alpha1.ShardRange](has)
	}
	return i
}

// wanting is an instance that is to have shards, and that nobody has reported of.
func wanting(name string, shared bool, wanted ranges) v1alpha1.ChainInstance {
	i := v1alpha1.ChainInstance{Spec: v1alpha1.ChainInstanceSpec{Chain: "edge", Program: "edge-1", Cores: 8, Shared: shared}}
	i.Namespace, i.Name = "lab", name
	i.Labels = map[string]string{v1alpha1.LabelChain: "edge"}
	if len(wanted) > 0 {
		i.Spec.Groups = []v1alpha1.InstanceGroup{{Name: shard.GroupAll, Shards: wanted, Cores: []int32{0, 1}}}
	}
	return i
}

func addCondition(i *v1alpha1.ChainInstance, kind string, status metav1.ConditionStatus, reason, message string) {
	i.Status.Conditions = append(i.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
}

// but is an instance with a change.
func but(i v1alpha1.ChainInstance, change func(*v1alpha1.ChainInstance)) v1alpha1.ChainInstance {
	change(&i)
	return i
}

// engineDown is what the agent reports without its engine.
func engineDown(i *v1alpha1.ChainInstance) {
	i.Status.Cores, i.Status.Groups, i.Status.Shards, i.Status.Conditions = nil, nil, nil, nil
	addCondition(i, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonEngineDown, "the engine does not answer:\nconnection refused")
}

func balancedAs(status metav1.ConditionStatus, reason, message string) func(*v1alpha1.ChainInstance) {
	return func(i *v1alpha1.ChainInstance) { addCondition(i, v1alpha1.ConditionBalanced, status, reason, message) }
}

var shardCases = map[string]struct {
	instances []v1alpha1.ChainInstance
	want      []string // instance, CPU, shards, their number, message
}{
	"one instance, two of its cores work": {
		[]v1alpha1.ChainInstance{reported("edge-0", false, ranges{"0-127"}, on(6, 40, "0-7", "16-127"), on(2, 31, "8-15"))},
		[]string{"edge-0 6 0-7,16-127 120", "edge-0 2 8-15 8"},
	},
	"three instances with several cores each": {
		[]v1alpha1.ChainInstance{
			reported("edge-0", true, ranges{"0-41"}, on(2, 40, "0-20", "41"), on(3, 30, "21-40")),
			reported("edge-1", true, ranges{"42-84"}, on(0, 9, "42-84")),
			reported("edge-2", true, ranges{"85-127"}, on(4, 1, "85-90"), on(5, 2, "91-126"), on(6, 3, "127")),
		},
		[]string{
			"edge-0 2 0-20,41 22", "edge-0 3 21-40 20", "edge-1 0 42-84 43", "edge-2 4 85-90 6", "edge-2 5 91-126 36", "edge-2 6 127 1",
		},
	},
	"shards move to another instance": { // 80-95 are given by edge-0, and not taken yet
		[]v1alpha1.ChainInstance{
			reported("edge-0", true, ranges{"0-63"}, on(2, 40, "0-40"), on(3, 30, "41-79")),
			reported("edge-1", true, ranges{"64-127"}, on(2, 20, "96-127")),
		},
		[]string{
			"edge-0 2 0-40 41", "edge-0 3 41-79 39",
			"edge-1 2 96-127 32", "edge-1 - 64-79 16 edge-0 still reports them", "edge-1 - 80-95 16 no instance reports them",
		},
	},
	"shards do not move": {
		[]v1alpha1.ChainInstance{
			but(reported("edge-0", true, ranges{"0-63"}, on(2, 40, "0-127")), balancedAs(metav1.ConditionFalse, v1alpha1.ReasonMovesFail, "no route\nto edge-1")),
			but(reported("edge-1", true, ranges{"64-127"}), balancedAs(metav1.ConditionTrue, v1alpha1.ReasonOneCore, "one core does all work")),
		},
		[]string{"edge-0 2 0-127 128", "edge-1 - 64-127 64 edge-0 still reports them: no route to edge-1"},
	},
	"shards do not come": {
		[]v1alpha1.ChainInstance{
			but(reported("edge-0", true, ranges{"0-127"}), balancedAs(metav1.ConditionFalse, v1alpha1.ReasonMovesFail, "edge-1 does not answer")),
		},
		[]string{"edge-0 - 0-127 128 edge-1 does not answer"},
	},
	"an agent has not reported": {
		[]v1alpha1.ChainInstance{
			reported("edge-0", true, ranges{"0-63"}, on(2, 40, "0-63")),
			wanting("edge-1", true, ranges{"64-127"}),
		},
		[]string{"edge-0 2 0-63 64", "edge-1 - 64-127 64 its agent has not reported yet"},
	},
	"a pod does not start": {
		[]v1alpha1.ChainInstance{but(wanting("edge-0", false, ranges{"0-127"}), func(i *v1alpha1.ChainInstance) {
			addCondition(i, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonUnschedulable, "0/3 nodes are available")
		})},
		[]string{"edge-0 - 0-127 128 not ready: 0/3 nodes are available"},
	},
	"an engine is down": {
		[]v1alpha1.ChainInstance{but(reported("edge-0", false, ranges{"0-127"}, on(2, 40, "0-127")), engineDown)},
		[]string{"edge-0 - 0-127 128 not ready: the engine does not answer: connection refused"},
	},
	"instances that share no state have all shards each": {
		[]v1alpha1.ChainInstance{
			reported("edge-0", false, ranges{"0-127"}, on(2, 40, "0-63"), on(3, 30, "64-127")),
			wanting("edge-1", false, ranges{"0-127"}),
		},
		[]string{"edge-0 2 0-63 64", "edge-0 3 64-127 64", "edge-1 - 0-127 128 its agent has not reported yet"},
	},
	"one that is to share state does not wait for one of before": {
		[]v1alpha1.ChainInstance{
			reported("edge-0", false, ranges{"0-127"}, on(2, 40, "0-127")),
			reported("edge-1", true, ranges{"0-127"}),
		},
		[]string{"edge-0 2 0-127 128", "edge-1 - 0-127 128 no instance reports them"},
	},
	"an instance is being removed": { // the agent names owners only of a group that it is to have
		[]v1alpha1.ChainInstance{
			reported("edge-0", true, ranges{"0-127"}, on(2, 40, "0-99")),
			but(reported("edge-1", true, nil), func(i *v1alpha1.ChainInstance) { i.Status.Shards = ranges{"100-127"} }),
		},
		[]string{
			"edge-0 2 0-99 100", "edge-0 - 100-127 28 edge-1 still reports them", "edge-1 - 100-127 28 the report of edge-1 names no core for them",
		},
	},
	"an instance was added": {
		[]v1alpha1.ChainInstance{
			reported("edge-0", true, ranges{"0-127"}, on(2, 90, "0-127")),
			but(wanting("edge-1", true, nil), func(i *v1alpha1.ChainInstance) {
				addCondition(i, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForPods, "the pod is starting")
			}),
			reported("edge-2", true, nil),
		},
		[]string{
			"edge-0 2 0-127 128", "edge-1 - - 0 no shards are assigned to it: not ready: the pod is starting", "edge-2 - - 0 no shards are assigned to it",
		},
	},
	"pools are too small for 128 shards": {
		[]v1alpha1.ChainInstance{reported("edge-0", false, ranges{"0-127"}, on(2, 40, "0-15"), on(3, 30, "16-31"))},
		[]string{"edge-0 2 0-15 16", "edge-0 3 16-31 16"},
	},
	"no state, one core": {
		[]v1alpha1.ChainInstance{but(reported("edge-0", false, ranges{"0-127"}), balancedAs(metav1.ConditionTrue, v1alpha1.ReasonOneCore, ""))},
		[]string{"edge-0 - - 0 the chain keeps no state, so there are no shards"},
	},
	"no state to share": {
		[]v1alpha1.ChainInstance{but(reported("edge-0", true, ranges{"0-127"}), balancedAs(metav1.ConditionTrue, v1alpha1.ReasonNoState, ""))},
		[]string{"edge-0 - - 0 the chain keeps no state, so there are no shards"},
	},
	"no program runs yet": {
		[]v1alpha1.ChainInstance{but(reported("edge-0", false, ranges{"0-127"}), func(i *v1alpha1.ChainInstance) {
			i.Status.AppliedHash, i.Status.Conditions = "", nil
			addCondition(i, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNoProgram, "edge-1 is not loaded yet")
		})},
		[]string{"edge-0 - 0-127 128 not ready: edge-1 is not loaded yet"},
	},
	"no instances": {nil, nil},
}

func TestShardsAreListedByInstanceAndCore(t *testing.T) {
	for name, c := range shardCases {
		t.Run(name, func(t *testing.T) {
			places, err := placesOf(c.instances)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range places {
				core, shards := "-", "-"
				if p.Core != nil {
					core = fmt.Sprint(p.Core.LCore)
				}
				if len(p.Shards) > 0 {
					shards = strings.Join(p.Shards, ",")
				}
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s %d %s", p.Instance, core, shards, p.Count, p.Message)))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("places are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestAShardThatAnotherInstanceHoldsNamesIt(t *testing.T) {
	places, err := placesOf(shardCases["shards move to another instance"].instances)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range places {
		want := ""
		if slices.Equal(p.Shards, []string{"64-79"}) {
			want = "edge-0"
		}
		if p.HeldBy != want {
			t.Errorf("shards %v of %s are held by %q, want %q", p.Shards, p.Instance, p.HeldBy, want)
		}
	}
}

func TestTheWorkOfShardsIsThatOfTheirCoreAlone(t *testing.T) {
	i := reported("edge-0", false, ranges{"0-127"}, on(2, 70, "0-1", "120-127"), on(3, 30, "2-119"))
	i.Status.Groups[0].Work = []int32{104, 100, 55, 250} // those after have none
	places, err := placesOf([]v1alpha1.ChainInstance{i})
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range []int32{20, 31} { // 20.4 and 30.5 %
		if got := places[k].WorkPercent; got == nil || *got != want {
			t.Errorf("the shards on CPU %d: %+v, want a load of %d %% of a core", places[k].Core.LCore, places[k], want)
		}
	}
}

func TestARangeThatIsNoneNamesInstanceAndGroup(t *testing.T) {
	for name, i := range map[string]v1alpha1.ChainInstance{
		"to have": wanting("edge-0", true, ranges{"9-5"}),
		"owned": but(wanting("edge-0", true, nil), func(i *v1alpha1.ChainInstance) {
			i.Status.Groups = []v1alpha1.GroupStatus{{Name: "all", Owners: []v1alpha1.CoreShards{on(2, 0, "9-5")}}}
		}),
		"held": but(wanting("edge-0", true, nil), func(i *v1alpha1.ChainInstance) { i.Status.Shards = ranges{"9-5"} }),
	} {
		if _, err := placesOf([]v1alpha1.ChainInstance{i}); err == nil || !strings.HasPrefix(err.Error(), `ChainInstance edge-0: group all: shards: "9-5": not a shard`) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// sharing is a world with a chain of three instances that share its state: edge-0 is the front, shards move to edge-1, edge-2 starts.
func sharing(t *testing.T) *world {
	chain := &v1alpha1.ServiceChain{}
	chain.Namespace, chain.Name = "lab", "edge"
	front := reported("edge-0", true, ranges{"0-31"}, on(2, 62, "0-15", "17"), on(3, 58, "16", "18-47"))
	front.Spec.Front = true
	front.Status.Groups[0].Work = slices.Repeat([]int32{20}, 48)
	second := reported("edge-1", true, ranges{"32-79"}, on(2, 33, "48-79"))
	third := wanting("edge-2", true, ranges{"80-127"})
	addCondition(&third, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForPods, "the pod is starting")
	bare := &v1alpha1.ServiceChain{}
	bare.Namespace, bare.Name = "lab", "bare"
	return newWorld(t, chain, bare, &front, &second, &third)
}

func (w *world) showShards(t *testing.T, chain string, wide bool) string {
	t.Helper()
	places, err := w.Shards(t.Context(), chain)
	if err != nil {
		t.Fatal(err)
	}
	return says(t, func(b *strings.Builder) error { return w.ShardsText(b, chain, places, wide) })
}

func TestShardsArePrintedForPeopleAndForScripts(t *testing.T) {
	w := sharing(t)
	golden(t, "shards.txt", w.showShards(t, "edge", false))
	golden(t, "shards-wide.txt", w.showShards(t, "edge", true))
	places, err := w.Shards(t.Context(), "edge")
	golden(t, "shards.json", asJSON(t, places, err))
}

func TestShardsWithoutNotesHaveNoColumnForThem(t *testing.T) {
	w := sharing(t)
	for _, name := range []string{"edge-1", "edge-2"} {
		if err := w.Client.Delete(t.Context(), &v1alpha1.ChainInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	var first v1alpha1.ChainInstance
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: "lab", Name: "edge-0"}, &first); err != nil {
		t.Fatal(err)
	}
	first.Spec.Groups[0].Shards = ranges{"0-47"}
	if err := w.Client.Update(t.Context(), &first); err != nil {
		t.Fatal(err)
	}
	const want = "INSTANCE  NODE    CORE  SHARDS    COUNT  LOAD%\n" +
		"edge-0    node-0  2     0-15,17   17     62\n" +
		"edge-0    node-0  3     16,18-47  31     58\n"
	if got := w.showShards(t, "edge", false); got != want {
		t.Errorf("it says\n%swant\n%s", got, want)
	}
}

func TestShardsOfAChainWithoutInstances(t *testing.T) {
	w := sharing(t)
	if got, want := w.showShards(t, "bare", false), "chain bare in namespace lab has no instances; its status says why\n"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	if places, err := w.Shards(t.Context(), "bare"); asJSON(t, places, err) != "[]\n" {
		t.Errorf("as JSON it is %s", asJSON(t, places, err))
	}
	if _, err := w.Shards(t.Context(), "egde"); err == nil || !strings.Contains(err.Error(), `there is no chain "egde" in namespace lab; did you mean "edge"?`) {
		t.Errorf("of a chain that there is not, the error is %v", err)
	}
}
