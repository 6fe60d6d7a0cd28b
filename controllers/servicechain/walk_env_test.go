package servicechain_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/servicechain"
)

// walk is a sequence of what users, nodes and load do to the chain edge.
type walk struct {
	*agents
	rand *rand.Rand
	did  []string

	programOf map[int]string // in force, by port, as was seen in any walk

	// what the spec says
	port, least, most, memory int
	refused                   bool

	harsh bool // there is trouble, too
	lost  int  // shards of pods that had to end before they were empty
}

// spec is the chain as the user wants it now.
func (k *walk) spec() string {
	text := edge(k.port, fmt.Sprintf("  scaling: {instances: %d, maxInstances: %d}\n", k.least, k.most), quickRollout, fmt.Sprintf("  resources: {memory: %dGi}\n", k.memory))
	if k.refused {
		text = strings.Replace(text, "path: [inside, fw", "path: [inside, fv", 1)
	}
	return text
}

// do takes a step.
func (k *walk) do(format string, args ...any) { k.did = append(k.did, fmt.Sprintf(format, args...)) }

// change is a step of the user.
func (k *walk) change() {
	switch k.rand.IntN(5) {
	case 0, 1:
		k.least = 1 + k.rand.IntN(3)
		k.most = k.least + k.rand.IntN(4-k.least)
	case 2:
		k.port = 440 + k.rand.IntN(4)
	case 3:
		k.memory = 1 + k.rand.IntN(2)
	case 4:
		k.refused = !k.refused
	}
	k.do("apply port %d, %d to %d instances, %d GiB, refused %v", k.port, k.least, k.most, k.memory, k.refused)
	k.apply(k.spec())
}

// pods are those that are there.
func (k *walk) pods() (list []corev1.Pod) {
	var pods corev1.PodList
	k.must(k.client.List(k.Context(), &pods, client.InNamespace(k.namespace)))
	return pods.Items
}

// kubelet ends pods that have given their shards away, or whose instance is gone, and starts others.
func (k *walk) kubelet() {
	k.do("kubelet")
	for _, p := range k.pods() {
		owned := slices.ContainsFunc(k.instances(), func(i v1alpha1.ChainInstance) bool { return metav1.IsControlledBy(&p, &i) })
		if p.DeletionTimestamp == nil && owned {
			continue
		}
		// One that nobody takes anything from ends with what it has.
		if has := len(k.has[p.Name]); has == 0 || len(k.instances()) == 1 {
			k.lose(p.Name)
			k.must(k.client.Delete(k.Context(), &p, client.GracePeriodSeconds(0)))
			delete(k.has, p.Name)
		}
	}
	k.startPods()
}

// restart is another operator, which remembers nothing.
func (k *walk) restart() {
	k.do("another operator")
	old := k.chains
	k.chains = &servicechain.Reconciler{Client: old.Client, Live: old.Live, Recorder: old.Recorder, Clock: old.Clock, Stores: old.Stores, Policy: old.Policy, Isolation: old.Isolation}
	k.functions.Judged = k.chains.Judged
}

// step does one thing, and has the others follow.
func (k *walk) step() {
	switch k.rand.IntN(10) {
	case 8, 9:
		if k.harsh {
			k.trouble()
		}
	case 0, 1, 2:
		k.change()
	case 3:
		k.work = int32(k.rand.IntN(20))
		k.do("load %d", k.work)
	case 4:
		k.idle = !k.idle
		k.do("agents hand over: %v", !k.idle)
	case 5:
		k.restart()
	case 6, 7:
		k.kubelet()
	}
	if k.rand.IntN(4) > 0 {
		step, n := time.Duration(1+k.rand.IntN(15))*time.Second, 1+k.rand.IntN(4)
		k.do("pass %d × %s", n, step)
		k.pass(step, n)
	} else {
		k.settle()
	}
}

// trouble is what happens beside users.
func (k *walk) trouble() {
	pods := k.pods()
	if len(pods) == 0 {
		return
	}
	p := pods[k.rand.IntN(len(pods))]
	switch k.rand.IntN(4) {
	case 0:
		k.do("pod %s is gone", p.Name)
		k.lose(p.Name)
		k.must(k.client.Delete(k.Context(), &p, client.GracePeriodSeconds(0)))
		delete(k.has, p.Name)
	case 1:
		k.do("the engine of %s starts again", p.Name)
		k.lose(p.Name)
		if k.has[p.Name] != nil {
			k.has[p.Name] = map[int]bool{}
		}
	case 2:
		k.do("pod %s is evicted", p.Name)
		k.must(k.client.Delete(k.Context(), &p))
	case 3:
		k.speaks()
		if p.DeletionTimestamp == nil && p.Spec.NodeName != "" {
			k.do("the agent of %s is silent", p.Name)
			k.mute(p.Name)
		}
	}
}

// lose counts the shards of an engine as lost.
func (k *walk) lose(name string) { k.lost += len(k.has[name]) }

// speaks has the agent that is silent speak again.
func (k *walk) speaks() {
	for _, p := range k.pods() {
		if p.Name == k.silent && len(p.Status.ContainerStatuses) == 2 {
			k.do("the agent of %s speaks again", p.Name)
			p.Status.ContainerStatuses[1].Ready = true
			k.must(k.client.Status().Update(k.Context(), &p))
		}
	}
	k.silent = ""
	k.startPods()
}

// rest has all follow until nothing changes.
func (k *walk) rest() (wrong string) {
	k.speaks()
	k.idle, k.refused, k.work = false, false, 1
	k.do("rest")
	k.apply(k.spec())
	for range 60 {
		k.kubelet()
		k.pass(10*time.Second, 1)
		if wrong = k.wrong(); wrong == "" {
			return ""
		}
	}
	return wrong
}

// SINTER_WALKS=n takes n walks, and SINTER_SEED=n begins with another one.
func TestAChainThatSharesStateFollowsAnyChangesAndLosesNoSession(t *testing.T) {
	walks, seed := 2, uint64(1)
	if n, err := strconv.Atoi(os.Getenv("SINTER_WALKS")); err == nil {
		walks = n
	}
	if n, err := strconv.ParseUint(os.Getenv("SINTER_SEED"), 10, 64); err == nil {
		seed = n
	}
	programs := map[int]string{}
	for n := range uint64(walks) {
		t.Run(fmt.Sprint(seed+n), func(t *testing.T) {
			k := &walk{programOf: programs, harsh: n%2 == 1, rand: rand.New(rand.NewPCG(seed+n, 0)), port: 443, least: 1, most: 2, memory: 1}
			k.agents = sharing(t, k.spec())
			defer func() {
				if t.Failed() {
					t.Logf("steps: %s\nevents:\n%s", strings.Join(k.did, "; "), strings.Join(k.events, "\n"))
				}
			}()
			for range 10 {
				k.step()
			}
			if wrong := k.rest(); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

// wrong is what is not as the spec says.
func (k *walk) wrong() string {
	k.Helper()
	all := k.instances()
	if len(all) < k.least || len(all) > k.most {
		return fmt.Sprintf("%d instances, want %d to %d", len(all), k.least, k.most)
	}
	c := k.chain("edge")
	for port, program := range k.programOf {
		if (port == k.port) != (program == c.Status.Program) {
			return fmt.Sprintf("program %s is in force with port %d, and %s was with port %d", c.Status.Program, k.port, program, port)
		}
	}
	shards := 0
	for _, i := range all {
		shards += len(k.has[i.Name])
		if m := i.Spec.Resources.Memory; i.Spec.Program != c.Status.Program || m.Value() != int64(k.memory)<<30 {
			return fmt.Sprintf("%s has program %s and memory %s, want %s and %d GiB", i.Name, i.Spec.Program, &m, c.Status.Program, k.memory)
		}
	}
	ready := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case shards != 128 || k.begun != 128+k.lost:
		return fmt.Sprintf("engines have %d shards, and %d began again; want 128, and those that were lost, %d", shards, k.begun-128, k.lost)
	case c.Status.Rollout != nil:
		return fmt.Sprintf("a rollout is not over: %+v", c.Status.Rollout)
	case ready.Status != yes || ready.Reason != v1alpha1.ReasonForwarding:
		return fmt.Sprintf("Ready is %s, %s: %s", ready.Status, ready.Reason, ready.Message)
	}
	k.programOf[k.port] = c.Status.Program
	return ""
}
