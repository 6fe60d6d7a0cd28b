package netns

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/chaininstance"
	"github.com/sinter-nfv/sinter/test/netns/lab"
)

var xdpBinds = []string{"inside=net_af_xdp_inside,iface=inside", "outside=net_af_xdp_outside,iface=outside"}

// xdpRights are the capabilities that the operator gives an engine whose interfaces are opened by AF_XDP.
func xdpRights() (list []string) {
	spec := v1alpha1.ChainInstanceSpec{Interfaces: []v1alpha1.InterfaceBinding{{Name: "inside", Driver: v1alpha1.DriverAFXDP}}}
	for _, c := range chaininstance.EngineCapabilities(&spec) {
		list = append(list, string(c))
	}
	return list
}

// TestAFXDPWithThePodsRights has a chain run by AF_XDP with the capabilities of a pod and no other.
// startXDP starts an engine with the rights that a pod has, which runs the tests' chain.
func (s *site) startXDP(t *testing.T) {
	t.Helper()
	s.engine = lab.StartEngineWith(t, s.box, xdpRights(), xdpBinds)
	s.engine.Load(t, lab.Compile(t, lab.Parse(t, write(t, t.TempDir(), "chain.yaml", office))))
}

func TestAFXDPWithThePodsRights(t *testing.T) {
	lab.Require(t, "ping", "setpriv")
	t.Run("packets pass both ways, and the engine leaves nothing on the interfaces", func(t *testing.T) {
		s := newSite(t)
		s.box.Run(t, "ip", "link", "set", "inside", "down") // as some plugins leave it
		s.startXDP(t)
		s.passesAll(t)
		serveEcho(t, s.peer, officePeer+":7")
		c, err := dial(s.host, "tcp", officeHost+":0", officePeer+":7")
		if err == nil {
			err = c.answered(make([]byte, 1<<20))
		}
		if err != nil {
			t.Errorf("a megabyte by TCP, there and back: %v", err)
		}
		s.attached(t, true, "inside", "outside")
		s.engine.Process.Stop(t)
		s.attached(t, false, "inside", "outside")
	})
	t.Run("an engine that was killed is followed by another", func(t *testing.T) {
		s := newSite(t)
		for range 3 {
			s.startXDP(t)
			s.passesAll(t)
			s.engine.Process.Kill()
			s.attached(t, true, "inside", "outside")
		}
		s.startXDP(t)
		s.passesAll(t)
	})
	t.Run("an engine that runs keeps its interfaces", func(t *testing.T) {
		s := newSite(t)
		s.startXDP(t)
		s.declined(t, "interface inside: inside: another engine has it by AF_XDP")
		s.passesAll(t)
	})
	t.Run("interfaces on top of others, whose frames come by the kernel's generic way", func(t *testing.T) {
		s := newSite(t)
		for _, device := range []string{"inside", "outside"} {
			s.box.Run(t, "ip", "link", "set", device, "name", "under"+device[:2])
			s.box.Run(t, "ip", "link", "set", "under"+device[:2], "up")
			s.box.Run(t, "ip", "link", "add", device, "link", "under"+device[:2], "type", "macvlan", "mode", "bridge")
		}
		s.startXDP(t)
		s.passesAll(t)
	})
}

func TestAFXDPTakesWhatTheInterfacesCanDoAndSaysWhatTheyCannot(t *testing.T) {
	lab.Require(t, "setpriv")
	t.Run("frames come by the queue that the one worker reads", func(t *testing.T) {
		s := &site{host: lab.New(t, "host"), peer: lab.New(t, "peer"), box: lab.New(t, "engine")}
		s.box.Run(t, "ip", "link", "add", "inside", "numrxqueues", "4", "type", "veth", "peer", "name", "far")
		if n := queues(t, s.box); n != 4 {
			t.Fatalf("a device with 4 queues has %d", n)
		}
		s.engine = lab.StartEngineWith(t, s.box, xdpRights(), xdpBinds[:1])
		if n := queues(t, s.box); n != 1 {
			t.Errorf("frames come by %d queues, want one as there is one worker", n)
		}
	})
	t.Run("more workers than the interface has queues are refused", func(t *testing.T) {
		s := newSite(t)
		s.declined(t, "2 workers need one each: use --workers 1", "--workers", "2", "--", "--lcores", "0@0,1@0,2@0")
	})
	t.Run("frames that do not fit a page are refused", func(t *testing.T) {
		s := newSite(t)
		s.host.Run(t, "ip", "link", "set", "eth0", "mtu", "9000")
		s.box.Run(t, "ip", "link", "set", "inside", "mtu", "9000")
		s.declined(t, "interface inside: MTU 9000 is more than device", "--mtu", "9000")
	})
	t.Run("another's program stays where it is", func(t *testing.T) {
		s := newSite(t)
		s.box.Run(t, "ip", "link", "set", "inside", "xdp", "object", "/usr/lib/x86_64-linux-gnu/bpf/xdpfilt_alw_all.o", "section", "xdp")
		s.declined(t, "ip link set inside xdp off")
		s.attached(t, true, "inside")
	})
}

// passesAll has the host's packets pass the chain, and the answers.
func (s *site) passesAll(t *testing.T) {
	t.Helper()
	s.host.Run(t, "ping", "-n", "-q", "-c", "1", "-W", "5", officePeer) // asks for the neighbours
	out := s.host.Run(t, "ping", "-n", "-q", "-c", "50", "-i", "0.01", "-W", "5", "-s", "1300", officePeer)
	if !strings.Contains(out, " 50 received") {
		t.Errorf("not all packets passed and were answered:\n%s", out)
	}
}

// declined has an engine begin on the interface inside, which must end it and say why.
func (s *site) declined(t *testing.T, why string, flags ...string) {
	t.Helper()
	args := append([]string{"--socket", filepath.Join(t.TempDir(), "s"), "--no-huge", "--bind", xdpBinds[0]}, flags...)
	if out, err := s.box.Try(lab.EnginePath(t), args...); err == nil || !strings.Contains(out, why) {
		t.Errorf("the engine said (%v), want %q:\n%s", err, why, out)
	}
}

// attached checks whether an XDP program stands before interfaces.
func (s *site) attached(t *testing.T, want bool, devices ...string) {
	t.Helper()
	for _, device := range devices {
		out := s.box.Run(t, "ip", "-details", "link", "show", device)
		if got := strings.Contains(out, "prog/xdp"); got != want {
			t.Errorf("an XDP program at %s: %t, want %t\n%s", device, got, want, out)
		}
	}
}

// queues is by how many queues frames come to the interface inside.
func queues(t *testing.T, s *lab.Space) (n int) {
	t.Helper()
	out := s.Run(t, "ethtool", "-l", "inside")
	_, current, _ := strings.Cut(out, "Current hardware settings:")
	_, current, _ = strings.Cut(current, "RX:")
	if _, err := fmt.Sscan(current, &n); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return n
}
