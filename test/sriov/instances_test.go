package sriov

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/shard"
	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// highTarget is the highest that there is: on a busy machine an emulated core seems to work when it has little to do.
const highTarget = 95

// lightLoad, in packets per second, is next to nothing, also for an emulated core.
const lightLoad = 50

func TestInstancesOfAChainOnVFsComeAndGoAndNoSessionEnds(t *testing.T) {
	if os.Getenv("SINTER_INSTANCES") == "" {
		t.Skip("takes minutes: SINTER_INSTANCES=1 make e2e-sriov runs it")
	}
	began, g := time.Now(), newGrowing(t)
	phase := func(name string, do func(t *testing.T)) {
		t.Run(name, do)
		t.Logf("%3.0f s", time.Since(began).Seconds())
		if t.Failed() {
			t.FailNow() // what follows begins with what this left
		}
	}

	phase("it begins with one instance, which has all shards, and to which the networks send", g.beginsWithOne)
	phase("an instance is added when the target is exceeded, and gets shards", g.addsOne)
	phase("its status shows both", g.showsBoth)
	phase("no binding changed, and what engines did not pass they counted", g.countsWhatItDidNotPass)

	phase("the pod to which the networks send is deleted: the other gets its shards and its packets", g.losesItsFront)
	phase("not a packet was lost, and no session", g.losesNothing)

	phase("with one instance wanted the last gives what it has, and goes", g.givesOneUp)
	phase("again not a packet was lost, and no session", g.losesNothing)
}

// growing is a chain whose instances come and go, under load.
type growing struct {
	*cluster
	p     *peers
	f     *flows
	books *books
	talks talks
}

func newGrowing(t *testing.T) *growing {
	t.Helper()
	g := &growing{cluster: newCluster(t)}
	g.scale(t, 1, 2, highTarget)
	g.waitReady(t, "a")
	g.p = &peers{host: lab.New(t, "host"), server: lab.New(t, "server")}
	g.cable.Join(t, g.p.host, 101, "eth0", hostAddress+"/24")
	g.cable.Join(t, g.p.server, 102, "eth0", serverAddress+"/24")
	g.p.host.Run(t, "ip", "route", "add", "default", "via", hostGateway)
	g.f, g.books = newFlows(t, g.p), newBooks(g.cluster, "a")
	g.f.send(t, lightLoad)
	eventually(t, patience, func() error {
		if got, _, _ := g.f.seen(); got == 0 {
			return fmt.Errorf("no packet has passed")
		}
		return nil
	})
	g.talks = newTalks(t, g.p)
	g.books.open(t, g.f)
	return g
}

// scale has the chain want so many instances, up to a number, at a target.
func (g *growing) scale(t *testing.T, instances, most, target int32) {
	t.Helper()
	g.applyChain(t, "a", "inside-a", "outside-a", func(s *v1alpha1.ServiceChainSpec) {
		s.Scaling = v1alpha1.Scaling{Instances: instances, MaxInstances: most, MinCores: 1, MaxCores: 1, TargetUtilization: target}
	})
}

func (g *growing) losesNothing(t *testing.T) {
	g.books.close(t, g.f, true)
	if n := g.chain(t, "a").Status.LostSessions; n != 0 {
		t.Errorf("%d sessions are said to be lost", n)
	}
}

func (g *growing) beginsWithOne(t *testing.T) {
	g.waitShards(t, "a", map[string]int{"a-0": 128})
	g.waitFront(t, g.p, "a", "a-0")
}

func (g *growing) addsOne(t *testing.T) {
	g.scale(t, 1, 2, lowTarget)
	// With more the sender and the switch take the time from the guest, and less comes to it.
	for rate, start := 1000, time.Now(); len(g.instances(t, "a")) < 2; rate = min(2*rate, 16_000) {
		if time.Since(start) > patience {
			t.Fatalf("still one instance at %d packets per second", rate)
		}
		g.f.send(t, rate)
		t.Logf("%d packets per second", rate)
		for wait := time.Now(); len(g.instances(t, "a")) < 2 && time.Since(wait) < 25*time.Second; { // two reports of the agent
			time.Sleep(time.Second)
		}
	}
	g.waitEvent(t, "a", "InstanceAdded", "on 1 core: the chain scales from 1 to 2 instances of 1 cores: ")
	g.waitEvent(t, "a", "ShardsHandedOver", "from a-0 move to instance a-1: the load is balanced")
	g.waitShards(t, "a", map[string]int{"a-0": 0, "a-1": 0})
	g.f.send(t, lightLoad)
	g.scale(t, 2, 2, highTarget)    // whatever the load
	g.waitFront(t, g.p, "a", "a-0") // as before
	g.talks.say(t, "with two instances")
}

func (g *growing) showsBoth(t *testing.T) {
	eventually(t, patience, func() error {
		scaled, err := g.condition(t, "a", v1alpha1.ConditionScaled, metav1.ConditionTrue)
		if want := "a-0 works with 1 of 1 core; a-1 works with 1 of 1 core"; err == nil && (scaled.Reason != v1alpha1.ReasonFixed || scaled.Message != want) {
			err = fmt.Errorf("condition %+v, want %s: %q", scaled, v1alpha1.ReasonFixed, want)
		}
		return err
	})
	describe := g.kubectl(t, "describe", "servicechain", "a")
	for _, want := range []string{`(?m)^  Front: +a-0$`, `(?m)^    Message: +a-0 on \S+, a-1 on \S+$`, `(?m)^  Instances: +2$`, `(?m)^  Cores: +2$`} {
		if !regexp.MustCompile(want).MatchString(describe) {
			t.Errorf("kubectl describe has no %s:\n%s", want, describe)
		}
	}
	for _, name := range []string{"a-0", "a-1"} {
		if i := g.instances(t, "a")[name]; i == nil || owned(t, i) == 0 {
			t.Errorf("instance %s: %+v, want one whose cores own shards", name, i)
		}
	}
}

func (g *growing) countsWhatItDidNotPass(t *testing.T) {
	g.books.close(t, g.f, false)
	if n := g.books.since(g.pod(t, "a-1").UID, counters.received); n == 0 {
		t.Error("nothing came to the second instance")
	}
}

func (g *growing) losesItsFront(t *testing.T) {
	g.books.open(t, g.f)
	g.f.send(t, lightLoad)
	before := g.pod(t, "a-0").UID
	g.kubectl(t, "delete", "pod", "a-0", "--wait=false")
	g.waitFront(t, g.p, "a", "a-1")
	g.waitEvent(t, "a", "FrontMoved", "instance a-1 is the front now and replies to ARP requests for the chain's addresses: the pod of instance a-0 terminates")
	g.talks.say(t, "while a pod ends")
	eventually(t, patience, func() error {
		g.books.look(t)
		return g.placed(t, "a", map[string]int{"a-0": -1, "a-1": 128})
	})
	eventually(t, patience, func() error {
		g.books.look(t)
		var pod corev1.Pod
		err := g.api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "a-0"}, &pod)
		if err == nil && pod.UID == before {
			err = errors.New("the pod still ends")
		}
		return err
	})
	g.talks.say(t, "when it has ended")
	g.waitReady(t, "a")
	eventually(t, patience, func() error {
		if s := g.chain(t, "a").Status; s.Instances != 2 || s.Front != "a-1" {
			return fmt.Errorf("%d instances run, the front is %s, want 2 and still a-1", s.Instances, s.Front)
		}
		return nil
	})
	g.talks.say(t, "when there is another one")
}

func (g *growing) givesOneUp(t *testing.T) {
	g.books.open(t, g.f)
	g.f.send(t, lightLoad)
	g.scale(t, 1, 1, highTarget)
	g.waitFront(t, g.p, "a", "a-0")
	g.waitEvent(t, "a", "FrontMoved", "instance a-0 is the front now and replies to ARP requests for the chain's addresses: instance a-1 is being removed")
	eventually(t, patience, func() error {
		g.books.look(t)
		return g.placed(t, "a", map[string]int{"a-0": 128})
	})
	g.waitEvent(t, "a", "ShardsHandedOver", "from a-1 move to instance a-0: it is being removed")
	g.waitEvent(t, "a", "InstanceRemoved", "instance a-1 has no shards left and is removed: ")
	eventually(t, patience, func() error {
		g.books.look(t)
		err := g.api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "a-1"}, &corev1.Pod{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("its pod is there still (%w)", err)
		}
		return nil
	})
	g.talks.say(t, "with one instance again")
}

// instances are those of a chain, by name.
func (c *cluster) instances(t testing.TB, chain string) map[string]*v1alpha1.ChainInstance {
	t.Helper()
	var list v1alpha1.ChainInstanceList
	if err := c.api.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingLabels{v1alpha1.LabelChain: chain}); err != nil {
		t.Fatal(err)
	}
	out := map[string]*v1alpha1.ChainInstance{}
	for k := range list.Items {
		out[list.Items[k].Name] = &list.Items[k]
	}
	return out
}

func (c *cluster) pod(t testing.TB, name string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	c.get(t, pod, namespace, name)
	return pod
}

// placed checks that each of these instances, and none else, has so many shards by spec, engine and the engine's cores; 0: some; -1: none.
func (c *cluster) placed(t testing.TB, chain string, want map[string]int) error {
	t.Helper()
	sum := 0
	instances := c.instances(t, chain)
	if len(instances) != len(want) {
		return fmt.Errorf("%d instances, want %d", len(instances), len(want))
	}
	for name, n := range want {
		i := instances[name]
		if i == nil {
			return fmt.Errorf("instance %s is missing", name)
		}
		var own []v1alpha1.ShardRange
		for _, g := range i.Spec.Groups {
			own = append(own, g.Shards...)
		}
		if n := owned(t, i); !slices.Equal(own, i.Status.Shards) || n != count(t, own) {
			return fmt.Errorf("instance %s is to have shards %v, has %v, and %d on its cores", name, own, i.Status.Shards, n)
		}
		if n == 0 && len(own) == 0 || n == -1 && len(own) > 0 || n > 0 && count(t, own) != n {
			return fmt.Errorf("instance %s has shards %v, want %d", name, own, n)
		}
		sum += count(t, own)
	}
	if sum != 128 {
		return fmt.Errorf("%d shards are somewhere, want 128", sum)
	}
	return nil
}

func count(t testing.TB, runs []v1alpha1.ShardRange) int {
	t.Helper()
	set, err := shard.Parse(runs)
	if err != nil {
		t.Fatal(err)
	}
	return set.Len()
}

// owned is how many shards the cores of an instance own, by its report.
func owned(t testing.TB, i *v1alpha1.ChainInstance) (n int) {
	t.Helper()
	for _, g := range i.Status.Groups {
		for _, o := range g.Owners {
			n += count(t, o.Shards)
		}
	}
	return n
}

// waitShards waits until shards are placed, and stay there for some seconds.
func (c *cluster) waitShards(t testing.TB, chain string, want map[string]int) {
	t.Helper()
	var since time.Time
	eventually(t, patience, func() error {
		if err := c.placed(t, chain, want); err != nil {
			since = time.Time{}
			return err
		}
		if since.IsZero() {
			since = time.Now()
		}
		if time.Since(since) < 5*time.Second {
			return fmt.Errorf("shards have not stayed where they are yet")
		}
		return nil
	})
	for name, i := range c.instances(t, chain) {
		t.Logf("%s has shards %v", name, i.Status.Shards)
	}
}

// waitFront waits until an instance is the front: its status says so, and host and server, if they know where to send, send to it.
func (c *cluster) waitFront(t testing.TB, p *peers, chain, instance string) {
	t.Helper()
	start := time.Now()
	eventually(t, patience, func() error {
		if s := c.chain(t, chain).Status.Front; s != instance {
			return fmt.Errorf("the front is %s, want %s", s, instance)
		}
		macs := map[v1alpha1.Name]string{}
		for _, i := range c.instances(t, chain)[instance].Status.Interfaces {
			macs[i.Name] = string(i.MAC)
		}
		for _, way := range []struct {
			from         *lab.Space
			address, mac string
		}{{p.host, hostGateway, macs["inside"]}, {p.server, pool, macs["outside"]}} {
			neighbour, err := way.from.Try("ip", "neighbour", "show", "to", way.address)
			if err != nil || way.mac == "" || neighbour != "" && !strings.Contains(neighbour, "lladdr "+way.mac) {
				return fmt.Errorf("%s is taken to be at %q (%w), want %s: that of %s", way.address, neighbour, err, way.mac, instance)
			}
		}
		return nil
	})
	t.Logf("the networks send to %s after %.0f s", instance, time.Since(start).Seconds())
}

// talks are TCP connections from the host to the server, on which each line comes back in capitals.
type talks []net.Conn

func newTalks(t testing.TB, p *peers) (list talks) {
	t.Helper()
	address := net.JoinHostPort(serverAddress, fmt.Sprint(port))
	lab.ServeTCP(t, p.server, address, func(c net.Conn) {
		for lines := bufio.NewScanner(c); lines.Scan(); {
			_, _ = fmt.Fprintln(c, strings.ToUpper(lines.Text()))
		}
	})
	for range 16 {
		c := lab.In(t, p.host, func() (net.Conn, error) { return net.DialTimeout("tcp4", address, 30*time.Second) })
		t.Cleanup(func() { _ = c.Close() })
		list = append(list, c)
	}
	list.say(t, "hello")
	return list
}

// say says something on all of them, and wants it back.
func (list talks) say(t testing.TB, text string) {
	t.Helper()
	for k, c := range list {
		err := c.SetDeadline(time.Now().Add(time.Minute))
		if err == nil {
			_, err = fmt.Fprintln(c, text)
		}
		var answer string
		if err == nil {
			answer, err = bufio.NewReader(c).ReadString('\n')
		}
		if err != nil || answer != strings.ToUpper(text)+"\n" {
			t.Fatalf("connection %d of %d: said %q, the answer is %q: %v", k, len(list), text, answer, err)
		}
	}
}

// books are the counters of a chain's engines, also of those that are gone, as they were read last.
type books struct {
	*cluster
	chain         string
	opened, last  map[types.UID]counters // by pod
	answers       []types.UID            // pods whose engines answered last
	sent, arrived uint64                 // when they were opened
}

func newBooks(c *cluster, chain string) *books {
	return &books{cluster: c, chain: chain, last: map[types.UID]counters{}}
}

// look reads the counters of the engines that answer.
func (b *books) look(t testing.TB) {
	t.Helper()
	var pods corev1.PodList
	if err := b.api.List(t.Context(), &pods, client.InNamespace(namespace), client.MatchingLabels{v1alpha1.LabelChain: b.chain}); err != nil {
		t.Fatal(err)
	}
	b.answers = nil
	for _, p := range pods.Items {
		if c, err := b.tryCounters(socketOf(&p)); err == nil {
			b.last[p.UID] = c
			b.answers = append(b.answers, p.UID)
		}
	}
}

// settle waits until what was sent has come or was lost.
func (b *books) settle(t testing.TB, f *flows) {
	t.Helper()
	b.sent, b.arrived = f.send(t, 0), settled(t, func() uint64 { n, _, _ := f.seen(); return n })
	b.look(t)
}

// open resets the counts, with nothing on its way.
func (b *books) open(t testing.TB, f *flows) {
	t.Helper()
	b.settle(t, f)
	b.opened = maps.Clone(b.last)
}

// since is what an engine counted since the books were opened.
func (b *books) since(pod types.UID, of func(counters) uint64) uint64 {
	before, now := b.opened[pod], b.last[pod]
	return of(now) - of(before)
}

// close checks what became of the packets that were sent since the books were opened. All: not only those that came to an engine.
func (b *books) close(t testing.TB, f *flows, all bool) {
	t.Helper()
	sent, arrived := b.sent, b.arrived
	b.settle(t, f)
	sent, arrived = b.sent-sent, b.arrived-arrived
	_, moved, disordered := f.seen()
	if moved > 0 {
		t.Errorf("%d packets came from another address or port than their flow's", moved)
	}
	var lost uint64
	for pod := range b.last {
		received, left := b.since(pod, counters.received), b.since(pod, counters.sent)
		dropped, arp, missed := b.since(pod, counters.dropped), b.since(pod, counters.arp), b.since(pod, counters.missed)
		lost += dropped + missed
		t.Logf("engine of pod %s: %d received, %d sent, %d dropped and %d ARP, %d missed; drops %+v", pod, received, left, dropped, arp, missed, b.last[pod].Drops)
		if slices.Contains(b.answers, pod) && received > left+dropped+arp {
			t.Errorf("the engine received %d packets; it sent %d and counted %d: %d are neither", received, left, dropped+arp, received-left-dropped-arp)
		}
	}
	t.Logf("%d packets sent, %d came, %d of them after a later one of their flow", sent, arrived, disordered)
	if all && sent > arrived+lost {
		t.Errorf("%d packets were sent, %d came and %d are counted as lost: %d are neither", sent, arrived, lost, sent-arrived-lost)
	}
	if all && arrived < sent-sent/50 {
		t.Errorf("of %d packets %d came, want nearly all", sent, arrived)
	}
}
