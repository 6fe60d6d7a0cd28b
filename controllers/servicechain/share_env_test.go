package servicechain_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

const (
	oneOrTwo = "  scaling: {instances: 1, maxInstances: 2}\n"
	two      = "  scaling: {instances: 2, maxInstances: 2}\n"
)

// agents plays the agents of edge, whose instances share its state.
type agents struct {
	*world
	has   map[string]map[int]bool // shards that engines have, by instance
	work  int32                   // that each shard wants, in thousandths of a core
	given int                     // packets per second for the function ips, of all shards together
	begun int                     // shards that began without sessions
	idle  bool                    // none of them hands anything over

	silent string // the instance whose agent does nothing, if any; its engine has what it had
}

func sharing(t *testing.T, text string) *agents {
	w := newWorld(t)
	w.chains.Policy.Images = []string{"registry.example/"}
	w.node("a")
	w.apply(text)
	w.settle()
	a := &agents{world: w, has: map[string]map[int]bool{}, work: 1}
	a.startPods()
	a.report()
	a.settle()
	a.pass(10*time.Second, 2)
	return a
}

func (a *agents) instances() (list []v1alpha1.ChainInstance) {
	a.Helper()
	var all v1alpha1.ChainInstanceList
	a.must(a.client.List(a.Context(), &all, client.InNamespace(a.namespace)))
	return all.Items
}

// runs tells whether an instance's pod runs.
func (a *agents) runs(name string) bool {
	p := &corev1.Pod{}
	err := a.client.Get(a.Context(), client.ObjectKey{Namespace: a.namespace, Name: name}, p)
	a.must(client.IgnoreNotFound(err))
	return err == nil && p.Status.Phase == corev1.PodRunning
}

func (a *agents) shardsOf(groups []v1alpha1.InstanceGroup) map[int]bool {
	a.Helper()
	own := map[int]bool{}
	for _, g := range groups {
		set, err := shard.Parse(g.Shards)
		a.must(err)
		for n := range set.All() {
			own[n] = true
		}
	}
	return own
}

// report has agents do what their instances say, as dataplane/agent does, and report.
func (a *agents) report() {
	a.Helper()
	for _, i := range a.instances() {
		if !a.runs(i.Name) {
			delete(a.has, i.Name)
		} else if a.has[i.Name] == nil {
			a.has[i.Name] = map[int]bool{} // a new engine
		}
	}
	for _, i := range a.instances() {
		has := a.has[i.Name]
		if has == nil || a.idle || i.Name == a.silent {
			continue
		}
		if !slices.Contains(a.pod(i.Name).Spec.Containers[0].Args, "--no-shards") {
			a.Fatalf("the engine of %s begins with all shards", i.Name)
		}
		own := a.shardsOf(i.Spec.Groups)
		anywhere := map[int]bool{}
		for _, p := range i.Spec.Peers {
			for n := range a.has[p.Name] {
				anywhere[n] = true
			}
		}
		for n := range own {
			if !has[n] && !anywhere[n] {
				has[n], a.begun = true, a.begun+1
			}
		}
		for _, p := range i.Spec.Peers {
			for n := range a.shardsOf([]v1alpha1.InstanceGroup{{Name: "all", Shards: p.Shards}}) {
				if has[n] && !own[n] && p.Address != "" && p.Name != a.silent {
					delete(has, n)
					a.has[p.Name][n] = true
				}
			}
		}
	}
	for _, i := range a.instances() {
		if a.has[i.Name] != nil && i.Name != a.silent {
			a.tell(i.Name)
		}
	}
}

// tell reports what an engine has.
func (a *agents) tell(name string) {
	a.Helper()
	a.world.report(name, func(i *v1alpha1.ChainInstance) {
		c := i.Status.Conditions[0]
		c.Type, c.Reason, c.Message = v1alpha1.ConditionBalanced, v1alpha1.ReasonOneCore, "one core has all shards"
		i.Status.Conditions = append(i.Status.Conditions, c)
		i.Status.Cores = []v1alpha1.CoreStatus{{LCore: 2, Packets: a.clock.Now().Unix()}}
		i.Status.Interfaces = []v1alpha1.InterfaceMAC{{Name: "inside", MAC: v1alpha1.MACAddress("02:00:00:00:00:0" + name[len(name)-1:])}}
		var has shard.Set
		works := make([]int32, shard.Count)
		for n := range a.has[name] {
			has.Add(n)
			works[n] = a.work
		}
		i.Status.Shards = shard.Text[v1alpha1.ShardRange](has)
		if a.given > 0 {
			i.Status.Functions = []v1alpha1.FunctionStatus{{Name: "ips", Ready: true, SentRate: int64(a.given * len(a.has[name]) / shard.Count)}}
		}
		i.Status.Groups = []v1alpha1.GroupStatus{{Name: "all", Owners: []v1alpha1.CoreShards{{LCore: 2, Shards: i.Status.Shards}}, Work: works}}
	})
}

// pass lets time pass in steps: agents act and report, then the operator. Each shard is somewhere, once, after each.
func (a *agents) pass(step time.Duration, n int) {
	a.Helper()
	for range n {
		a.clock.SetTime(a.clock.Now().Add(step))
		a.report()
		a.settle()
		specs, engines := map[int]int{}, map[int]int{}
		for _, i := range a.instances() {
			for n := range a.shardsOf(i.Spec.Groups) {
				specs[n]++
			}
			for n := range a.has[i.Name] {
				engines[n]++
			}
		}
		for n := range 128 {
			if specs[n] != 1 || engines[n] > 1 {
				a.Fatalf("shard %d is in %d specs and %d engines, want it in one; events:\n%s", n, specs[n], engines[n], strings.Join(a.events, "\n"))
			}
		}
	}
}

// faces checks that one instance alone is told to answer for the chain's addresses, and that the status says so.
func (a *agents) faces(want string) {
	a.Helper()
	var got []string
	for _, i := range a.instances() {
		if i.Spec.Front {
			got = append(got, i.Name)
		}
	}
	if said := a.chain("edge").Status.Front; said != want || !slices.Equal(got, []string{want}) {
		a.Fatalf("the front is said to be %q, and %v are told so, want %s; events:\n%s", said, got, want, strings.Join(a.events, "\n"))
	}
}

// halves checks that two engines have about half of the shards each.
func (a *agents) halves() {
	a.Helper()
	x, y := len(a.has["edge-0"]), len(a.has["edge-1"])
	if x+y != 128 || max(x, y)-min(x, y) > 16 {
		a.Fatalf("engines have %d and %d shards, want about half of 128 each; events:\n%s", x, y, strings.Join(a.events, "\n"))
	}
}

// holds checks how many shards the engines have, by the instances' indexes.
func (a *agents) holds(counts ...int) {
	a.Helper()
	var got []int
	for _, i := range a.instances() {
		got = append(got, len(a.has[i.Name]))
	}
	if !slices.Equal(got, counts) {
		a.Fatalf("engines have %v shards, want %v; events:\n%s", got, counts, strings.Join(a.events, "\n"))
	}
}

func TestAnInstanceThatTheSpecAsksForIsMadeOnceAndGetsShards(t *testing.T) {
	a := sharing(t, edge(443, two))
	a.work = 9
	a.apply(edge(443, strings.ReplaceAll(two, "2", "3")))
	a.pass(10*time.Second, 2)
	a.startPods()
	a.pass(10*time.Second, 8)
	if made, removed := a.countTold("InstanceCreated: instance edge-2"), a.countTold("InstanceRemoved"); made != 1 || removed != 0 {
		t.Errorf("instance edge-2 is made %d times, and %d instances are removed; want 1 and 0", made, removed)
	}
	if n := len(a.has["edge-2"]); n < 30 {
		t.Errorf("edge-2 has %d of 128 shards, want about a third", n)
	}
}

func TestAChainGrowsByAnInstanceAndGivesItUpAgain(t *testing.T) {
	a := sharing(t, edge(443, oneOrTwo))
	a.holds(128)
	secret := a.secret()
	if n := len(secret.Data[v1alpha1.ChainSecretKey]); n < 32 {
		t.Errorf("the pods' secret has %d bytes, want 32 at least", n)
	}
	begun := a.begun

	a.work = 9
	a.pass(2*time.Second, 2)
	a.told("Normal InstanceAdded: instance edge-1 with program " + a.instance("edge-0").Spec.Program + " on 1 core: the chain scales from 1 to 2 instances of 1 cores: the load is 1.15 cores, the target is 70 % of each core")
	a.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "") // while the pod starts
	a.pass(2*time.Second, 3)
	a.holds(128, 0) // there is no pod to hand anything to
	if n := len(a.instance("edge-1").Spec.Groups); n > 0 {
		t.Errorf("edge-1 is to have %d groups though its pod does not run yet", n)
	}
	a.startPods()
	a.pass(2*time.Second, 2)
	a.told("Normal ShardsHandedOver: shards 0-15 from edge-0 move to instance edge-1: the load is balanced")
	a.pass(10*time.Second, 8)
	a.halves()
	peer := a.instance("edge-0").Spec.Peers[0]
	if peer.Name != "edge-1" || peer.Address != "10.244.0.1:9443" || len(peer.Interfaces) != 1 || peer.Interfaces[0].MAC != "02:00:00:00:00:01" {
		t.Errorf("edge-0 knows its peer as %+v", peer)
	}
	a.says(v1alpha1.ConditionScaled, yes, v1alpha1.ReasonWithinBounds, "edge-0 works with 1 of 1 core; edge-1 works with 1 of 1 core")
	a.faces("edge-0")

	a.work = 2
	a.pass(10*time.Second, 11)
	a.halves() // the window is not full
	a.pass(10*time.Second, 3)
	if n := len(a.has["edge-1"]); n == 0 || n > 50 {
		t.Errorf("edge-1 has %d shards, want it to be on the way to none", n)
	}
	a.told("from edge-1 move to instance edge-0: it is being removed")
	a.pass(10*time.Second, 6)
	a.holds(128)
	a.told("Normal InstanceRemoved: instance edge-1 has no shards left and is removed: the chain scales from 2 to 1 instances of 1 cores: for 2m0s fewer cores were enough")
	if a.begun != begun {
		t.Errorf("%d shards began without sessions, want all handed over", a.begun-begun)
	}
	a.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "")
}

// secret is what the pods of edge know each other by, as they mount it.
func (w *world) secret() *corev1.Secret {
	w.Helper()
	for _, v := range w.pod("edge-0").Spec.Volumes {
		if v.Secret == nil {
			continue
		}
		s := &corev1.Secret{}
		w.must(w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: v.Secret.SecretName}, s))
		return s
	}
	w.Fatal("the pod edge-0 mounts no secret")
	return nil
}

func TestAChainThatIsMadeAnewHasASecretOfItsOwn(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443, oneOrTwo))
	w.settle()
	first, before := w.secret(), w.chain("edge")
	// As kubectl replace --force: the garbage of the chain before is collected some time later, the secret last.
	w.must(w.client.Delete(t.Context(), before))
	head := metav1.ObjectMeta{Namespace: w.namespace, Name: "edge-dataplane"}
	for _, o := range []client.Object{
		w.pod("edge-0"), w.instance("edge-0"), &w.programs()[0],
		&corev1.ServiceAccount{ObjectMeta: head}, &rbacv1.Role{ObjectMeta: head}, &rbacv1.RoleBinding{ObjectMeta: head}, &policyv1.PodDisruptionBudget{ObjectMeta: head}, &networkingv1.NetworkPolicy{ObjectMeta: head},
	} {
		w.must(w.client.Delete(t.Context(), o, client.GracePeriodSeconds(0)))
	}
	w.apply(edge(443, oneOrTwo))
	w.settle()
	if s := w.secret(); s.Name == first.Name || !metav1.IsControlledBy(s, w.chain("edge")) {
		t.Errorf("the pod of the chain that was recreated mounts secret %s of %v, which goes with the chain before", s.Name, s.OwnerReferences)
	}
}

func TestOthersTakeTheShardsOfAPodThatIsLost(t *testing.T) {
	a := sharing(t, edge(443, two))
	a.holds(64, 64)
	a.work = 8
	a.pass(10*time.Second, 2)
	a.events = nil
	a.must(a.client.Delete(t.Context(), a.pod("edge-1"), client.GracePeriodSeconds(0)))
	a.pass(2*time.Second, 2)
	a.holds(128, 0)
	a.told("Normal ShardsHandedOver: shards 64-127 from edge-1 move to instance edge-0: its pod is gone, the sessions are lost")
	if a.begun != 128+64 {
		t.Errorf("%d shards began, want those of the chain, and those that were lost", a.begun)
	}
	a.startPods()
	a.pass(10*time.Second, 8)
	a.halves()
	if a.begun != 128+64 {
		t.Errorf("%d shards began, want what went back to be handed over", a.begun)
	}
	for _, e := range a.events {
		if strings.Contains(e, "InstanceAdded") || strings.Contains(e, "InstanceRemoved") {
			t.Errorf("told %q, though there are to be two all the time", e)
		}
	}
}

func TestAnotherInstanceIsTheFrontWhenThePodEnds(t *testing.T) {
	a := sharing(t, edge(443, two))
	a.faces("edge-0")
	a.work = 8
	a.pass(10*time.Second, 1)
	a.must(a.client.Delete(t.Context(), a.pod("edge-0")))
	a.pass(time.Second, 1)
	a.faces("edge-1")
	a.told("Normal FrontMoved: instance edge-1 is the front now and replies to ARP requests for the chain's addresses: the pod of instance edge-0 terminates")
	a.pass(2*time.Second, 6) // what it had is handed over while it ends
	a.holds(0, 128)
	if a.begun != 128 {
		t.Errorf("%d shards began, want all handed over", a.begun)
	}
	a.must(a.client.Delete(t.Context(), a.pod("edge-0"), client.GracePeriodSeconds(0)))
	a.settle()
	a.startPods()
	a.pass(10*time.Second, 8)
	a.halves()
	a.faces("edge-1") // no host has to learn it again
	a.apply(edge(443, "  scaling: {instances: 1, maxInstances: 1}\n"))
	a.settle()
	a.pass(10*time.Second, 1)
	a.faces("edge-0")
	a.told("Normal FrontMoved: instance edge-0 is the front now and replies to ARP requests for the chain's addresses: instance edge-1 is being removed")
}

func TestInstancesThatShareStateInSteadyStateAreNotWritten(t *testing.T) {
	a := sharing(t, edge(443, two))
	a.writes, a.events = nil, nil
	a.reconcile()
	for range 20 {
		a.clock.SetTime(a.clock.Now().Add(5 * time.Minute))
		a.report()
		a.reconcile()
	}
	if len(a.writes)+len(a.events) > 0 {
		t.Errorf("nothing has changed, and written was %v, told %v", a.writes, a.events)
	}
}

func TestAProgramWaitsForShardsOnTheirWayAndShardsForAProgram(t *testing.T) {
	a := sharing(t, edge(443, oneOrTwo, quickRollout))
	a.work = 9
	a.pass(2*time.Second, 2)
	a.startPods()
	a.pass(2*time.Second, 1)
	a.idle = true
	a.pass(2*time.Second, 2) // 16 shards are to go
	before := a.instance("edge-0").Spec.Program
	a.apply(edge(8443, oneOrTwo, quickRollout))
	a.pass(2*time.Second, 3)
	if p := a.instance("edge-0").Spec.Program; p != before {
		t.Fatalf("edge-0 is brought to %s while shards are on their way", p)
	}
	a.idle = false
	a.pass(2*time.Second, 1)
	if p := a.instance("edge-0").Spec.Program; p == before {
		t.Fatal("edge-0 is not brought to the new program though all shards are where they are wanted")
	}
	moved := len(a.has["edge-1"])
	a.pass(2*time.Second, 4)
	if n := len(a.has["edge-1"]); n != moved {
		t.Errorf("during the rollout edge-1 has %d shards, %d before", n, moved)
	}
	a.pass(10*time.Second, 12)
	a.told("RolloutCompleted")
	a.halves()
	for _, e := range a.events {
		if strings.Contains(e, "from edge-1 go") {
			t.Errorf("the rollout took shards from an instance: %s", e)
		}
	}
}

func TestABadProgramIsTakenBackThoughShardsAreOnTheirWay(t *testing.T) {
	a := sharing(t, edge(443, two, quickRollout))
	first := a.instance("edge-0").Spec.Program
	a.apply(edge(8443, two, quickRollout))
	a.pass(2*time.Second, 1)
	if p := a.instance("edge-0").Spec.Program; p == first {
		t.Fatal("edge-0 is not brought to the new program")
	}
	a.idle = true
	a.must(a.client.Delete(t.Context(), a.pod("edge-1"))) // it drains
	a.settle()
	if n := len(a.shardsOf(a.instance("edge-1").Spec.Groups)); n > 0 {
		t.Fatalf("edge-1 is to have %d shards though its pod ends", n)
	}
	a.world.report("edge-0", func(i *v1alpha1.ChainInstance) { programmed(i, no, v1alpha1.ReasonLoadFailed, "no memory") })
	a.settle()
	a.told("ProgramRefused")
	if p := a.instance("edge-0").Spec.Program; p != first {
		t.Errorf("edge-0 keeps program %s, which it cannot load, until the shards of edge-1 have arrived", p)
	}
}

func TestFewerInstancesThanThereAreAreEmptiedFirst(t *testing.T) {
	a := sharing(t, edge(443, two))
	a.apply(edge(443, "  scaling: {instances: 1, maxInstances: 1}\n"))
	a.settle()
	a.holds(64, 64)
	a.pass(10*time.Second, 8)
	a.holds(128)
	a.told("InstanceRemoved: instance edge-1")
	if a.begun != 128 {
		t.Errorf("%d shards began, want all handed over", a.begun)
	}
}

func TestOfSeveralInstancesThatGoNoneIsMadeAnew(t *testing.T) {
	a := sharing(t, edge(443, "  scaling: {instances: 3, maxInstances: 3}\n"))
	a.holds(42, 43, 43)
	a.events = nil
	a.apply(edge(443, "  scaling: {instances: 1, maxInstances: 1}\n"))
	a.settle()
	a.pass(10*time.Second, 4)
	a.holds(106, 22) // edge-1 is gone, while edge-2 still has shards
	a.pass(10*time.Second, 8)
	a.holds(128)
	if made, gone := a.countTold("InstanceAdded"), a.countTold("InstanceRemoved"); made != 0 || gone != 2 {
		t.Errorf("%d instances are made and %d removed, want none and two; events:\n%s", made, gone, strings.Join(a.events, "\n"))
	}
	if a.begun != 128 {
		t.Errorf("%d shards began, want all handed over", a.begun)
	}
}

func TestBoundsOfInstancesAreChecked(t *testing.T) {
	w := newWorld(t)
	for scaling, want := range map[string]string{
		"{instances: 3, maxInstances: 2}":    "instances must not be larger than maxInstances",
		"{nodeFailures: 1}":                  "nodeFailures needs maxInstances",
		"{maxInstances: 65}":                 "less than or equal to 64",
		"{maxInstances: 2}":                  "",
		"{maxInstances: 2, nodeFailures: 1}": "",
	} {
		o := document(t, edge(443, "  scaling: "+scaling+"\n"))
		o.SetNamespace(w.namespace)
		err := w.client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("user"), client.ForceOwnership)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("scaling %s: %v, want %q", scaling, err, want)
		}
		w.must(client.IgnoreNotFound(w.client.Delete(t.Context(), o)))
	}
}

func TestTheOperatorsRightsSufficeToShareState(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.start(nil)
	w.apply(edge(443, two))
	w.eventually("two pods", func() bool {
		var pods corev1.PodList
		w.must(w.client.List(t.Context(), &pods, client.InNamespace(w.namespace)))
		return len(pods.Items) == 2
	})
	w.secret()
	a := &agents{world: w, has: map[string]map[int]bool{}, work: 1}
	a.startPods()
	w.eventually("each instance told where the other is", func() bool {
		for _, i := range a.instances() {
			if len(i.Spec.Peers) != 1 || i.Spec.Peers[0].Address == "" {
				return false
			}
		}
		return true
	})
	a.report()
	w.eventually("Ready", func() bool { return w.has("edge", v1alpha1.ConditionReady, yes) })
	w.rest()
	a.report()
	if n := w.rest(); n > 0 {
		t.Errorf("%d writes while nothing changes", n)
	}
	a.holds(64, 64)
}
