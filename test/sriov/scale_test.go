package sriov

import (
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// An emulated core bears little: the target is the lowest that there is.
const lowTarget = 10

func TestAChainOnVFsGoesToTwoCoresUnderLoadAndBack(t *testing.T) {
	c := newCluster(t)
	c.applyChain(t, "a", "inside-a", "outside-a", func(s *v1alpha1.ServiceChainSpec) {
		s.Scaling = v1alpha1.Scaling{Instances: 1, MinCores: 1, MaxCores: 2, TargetUtilization: lowTarget}
	})
	c.waitReady(t, "a")
	p := &peers{host: lab.New(t, "host"), server: lab.New(t, "server")}
	c.cable.Join(t, p.host, 101, "eth0", hostAddress+"/24")
	c.cable.Join(t, p.server, 102, "eth0", serverAddress+"/24")
	p.host.Run(t, "ip", "route", "add", "default", "via", hostGateway)
	f := newFlows(t, p)
	f.send(t, 50)
	eventually(t, patience, func() error {
		if got, _, _ := f.seen(); got == 0 {
			return fmt.Errorf("no packet has passed")
		}
		return nil
	})
	f.send(t, 0)
	quiet := settled(t, func() uint64 { n, _, _ := f.seen(); return n })
	before := c.account(t, "a")
	ready, err := c.condition(t, "a", v1alpha1.ConditionReady, metav1.ConditionTrue)
	if err != nil {
		t.Fatal(err)
	}

	t.Run("it begins with one of its two cores", func(t *testing.T) { c.waitCores(t, "a", 1) })
	t.Run("it goes to two when the target is exceeded, and says so", func(t *testing.T) { c.growsUnderLoad(t, f) })
	t.Run("it goes back when the load falls, and says so", func(t *testing.T) {
		f.send(t, 20)
		c.waitCores(t, "a", 1)
		c.waitEvent(t, "a", "CoresRemoved", "instance a-0 scales from 2 to 1 working cores: ")
	})
	t.Run("no binding and no order changed, and what the engine did not pass it counted", func(t *testing.T) {
		sent := f.send(t, 0)
		settled(t, func() uint64 { n, _, _ := f.seen(); return n })
		got, moved, disordered := f.seen()
		if moved+disordered > 0 {
			t.Errorf("%d packets came from another address or port than their flow's, %d out of order", moved, disordered)
		}
		now := c.account(t, "a")
		received, dropped := now.received-before.received, now.dropped-before.dropped
		t.Logf("%d sent in all; of those since the start of the load: %d received by the engine, %d came to the server, %d counted as dropped or as ARP, %d missed by the VF",
			sent, received, got-quiet, dropped, now.missed-before.missed)
		if received > got-quiet+dropped {
			t.Errorf("the engine received %d packets; %d came to the server and %d are counted: %d are neither", received, got-quiet, dropped, received-(got-quiet)-dropped)
		}
		still, err := c.condition(t, "a", v1alpha1.ConditionReady, metav1.ConditionTrue)
		if err != nil || !still.LastTransitionTime.Equal(&ready.LastTransitionTime) {
			t.Errorf("Ready is %+v (%v), want it to be True as since %s", still, err, ready.LastTransitionTime)
		}
	})
}

// growsUnderLoad has the load be more and more until two cores work.
func (c *cluster) growsUnderLoad(t *testing.T, f *flows) {
	for rate := 32_000; c.working(t, "a") < 2; rate *= 2 {
		if rate > 64_000 {
			t.Fatalf("still one core at %d packets per second", rate/2)
		}
		f.send(t, rate)
		t.Logf("%d packets per second", rate)
		for wait := time.Now(); c.working(t, "a") < 2 && time.Since(wait) < 25*time.Second; { // two reports of the agent
			time.Sleep(time.Second)
		}
	}
	c.waitCores(t, "a", 2)
	c.waitEvent(t, "a", "CoresAdded", "instance a-0 scales from 1 to 2 working cores: ")
}

// chain is a chain as the cluster has it.
func (c *cluster) chain(t testing.TB, name string) *v1alpha1.ServiceChain {
	t.Helper()
	s := &v1alpha1.ServiceChain{}
	c.get(t, s, namespace, name)
	return s
}

// working is how many cores of a chain's one instance are to work.
func (c *cluster) working(t testing.TB, chain string) int {
	t.Helper()
	i := c.instances(t, chain)[chain+"-0"]
	if i == nil {
		return 0
	}
	return i.WorkingCores()
}

// waitCores waits until a chain's one instance is to have all shards on so many cores, and reports that as many CPUs own them.
func (c *cluster) waitCores(t testing.TB, chain string, n int) {
	t.Helper()
	var i *v1alpha1.ChainInstance
	eventually(t, patience, func() error {
		all := c.instances(t, chain)
		if i = all[chain+"-0"]; i == nil || len(all) != 1 {
			return fmt.Errorf("%d instances, want one", len(all))
		}
		if len(i.Spec.Groups) != 1 || len(i.Status.Groups) != 1 {
			return fmt.Errorf("groups are to be %+v and are %+v, want one", i.Spec.Groups, i.Status.Groups)
		}
		spec, status := i.Spec.Groups[0], i.Status.Groups[0]
		if spec.Name != "all" || len(spec.Shards) != 1 || spec.Shards[0] != "0-127" || len(spec.Cores) != n || len(i.Status.Cores) < n {
			return fmt.Errorf("group %+v on CPUs %+v, want all shards on %d", spec, i.Status.Cores, n)
		}
		if status.Name != spec.Name || len(status.Owners) != n || owned(t, i) != 128 {
			return fmt.Errorf("%+v own %d shards, want %d CPUs with 128", status.Owners, owned(t, i), n)
		}
		scaled := meta.FindStatusCondition(c.chain(t, chain).Status.Conditions, v1alpha1.ConditionScaled)
		if want := fmt.Sprintf("%s-0 works with %d of 2 cores", chain, n); scaled == nil || scaled.Status != metav1.ConditionTrue || scaled.Message != want {
			return fmt.Errorf("condition %+v, want True: %q", scaled, want)
		}
		return nil
	})
	t.Logf("CPUs and their shards: %+v", i.Status.Groups[0].Owners)
}

// waitEvent waits for an event of a chain.
func (c *cluster) waitEvent(t testing.TB, chain, reason, text string) {
	t.Helper()
	eventually(t, patience, func() error {
		out := c.kubectl(t, "get", "events", "--field-selector", "involvedObject.kind=ServiceChain,involvedObject.name="+chain+",reason="+reason, "--output", `jsonpath={range .items[*]}{.message}{"\n"}{end}`)
		if !strings.Contains(out, text) {
			return fmt.Errorf("events %s: %q, want one that says %q", reason, out, text)
		}
		t.Log(out)
		return nil
	})
}

// account is what became of packets, by the engine's counters.
type account struct{ received, missed, dropped uint64 }

// account is that of the packets that came in at a chain's inside.
func (c *cluster) account(t testing.TB, chain string) (a account) {
	t.Helper()
	now := c.engineCounters(t, chain)
	for _, i := range now.Interfaces {
		if i.Name == "inside" {
			a.received, a.missed = i.Received.Packets, i.Missed
		}
	}
	for _, d := range now.Drops {
		a.dropped += d.Packets
	}
	return a
}

// flows are UDP flows from the host to the server, each from a port of its own.
type flows struct {
	sockets []net.Conn
	stop    func() // sending
	sent    uint64

	mu                     sync.Mutex
	got, moved, disordered uint64
	from                   map[uint32]string // by flow: the address and port that it came from first
	last                   map[uint32]uint32 // by flow: the number of its last packet
}

func newFlows(t testing.TB, p *peers) *flows {
	t.Helper()
	f := &flows{stop: func() {}, from: map[uint32]string{}, last: map[uint32]uint32{}}
	address := net.JoinHostPort(serverAddress, fmt.Sprint(port))
	sink := lab.In(t, p.server, func() (*net.UDPConn, error) {
		to, err := net.ResolveUDPAddr("udp4", address)
		if err != nil {
			return nil, err
		}
		return net.ListenUDP("udp4", to)
	})
	t.Cleanup(func() { _ = sink.Close() })
	if raw, err := sink.SyscallConn(); err == nil { // what the chain passed is not to be lost behind it
		_ = raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 32<<20) })
	}
	go f.take(sink)
	for range 64 {
		c := lab.In(t, p.host, func() (net.Conn, error) { return net.Dial("udp4", address) })
		t.Cleanup(func() { _ = c.Close() })
		f.sockets = append(f.sockets, c)
	}
	t.Cleanup(func() { f.stop() })
	return f
}

// take notes what comes to the server.
func (f *flows) take(sink *net.UDPConn) {
	var buf [64]byte
	for {
		n, from, err := sink.ReadFromUDPAddrPort(buf[:])
		if err != nil {
			return
		}
		if n < 8 {
			continue
		}
		flow, number := binary.BigEndian.Uint32(buf[:]), binary.BigEndian.Uint32(buf[4:])
		f.mu.Lock()
		f.got++
		if f.from[flow] == "" {
			f.from[flow] = from.String()
		} else if f.from[flow] != from.String() {
			f.moved++
		}
		if number <= f.last[flow] {
			f.disordered++
		}
		f.last[flow] = max(f.last[flow], number)
		f.mu.Unlock()
	}
}

// seen is how many packets came to the server, how many of them not from where their flow came from before, and how many after a later one.
func (f *flows) seen() (got, moved, disordered uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.got, f.moved, f.disordered
}

// send has so many packets per second sent from now on, and returns how many were sent so far.
func (f *flows) send(t testing.TB, rate int) uint64 {
	t.Helper()
	f.stop()
	f.stop = func() {}
	if rate == 0 {
		return f.sent
	}
	end, ended := make(chan struct{}), make(chan struct{})
	f.stop = func() { close(end); <-ended }
	sent := f.sent
	go func() {
		defer close(ended)
		defer func() { f.sent = sent }()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		last, owed := time.Now(), 0.0
		for {
			select {
			case <-end:
				return
			case now := <-tick.C:
				owed = min(owed+now.Sub(last).Seconds()*float64(rate), float64(rate)/20) // no burst after a pause
				last = now
			}
			for ; owed >= 1; owed-- {
				flow := uint32(sent % uint64(len(f.sockets)))
				var packet [8]byte
				binary.BigEndian.PutUint32(packet[:], flow)
				binary.BigEndian.PutUint32(packet[4:], uint32(sent/uint64(len(f.sockets)))+1)
				if _, err := f.sockets[flow].Write(packet[:]); err == nil {
					sent++
				}
			}
		}
	}()
	return f.sent
}
