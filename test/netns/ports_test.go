package netns

import (
	"testing"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// TestTheChainRunsOnOtherKernelPorts has hosts ping and talk TCP through chains whose interfaces are bound by AF_XDP, and
// to the engine's own TAP device.
func TestTheChainRunsOnOtherKernelPorts(t *testing.T) {
	lab.Require(t, "ping")
	chain := lab.Compile(t, lab.Parse(t, write(t, t.TempDir(), "chain.yaml", office)))
	t.Run("AF_XDP on both sides", func(t *testing.T) {
		s := newSite(t)
		s.engine = lab.StartEngine(t, s.box, []string{"inside=net_af_xdp0,iface=inside", "outside=net_af_xdp1,iface=outside"})
		s.engine.Load(t, chain)
		s.host.Run(t, "ping", "-n", "-q", "-c", "5", "-i", "0.05", "-W", "5", officePeer)
	})
	t.Run("a TAP device outside, AF_PACKET inside", func(t *testing.T) {
		host, box := lab.New(t, "host"), lab.New(t, "engine")
		lab.Cable(t, lab.End{Space: host, Device: "eth0", Address: officeHost + "/24"}, lab.End{Space: box, Device: "inside"})
		host.Run(t, "ip", "route", "add", "default", "via", officeRouter)
		e := lab.StartEngine(t, box, []string{"inside=inside", "outside=net_tap0,iface=peer0"})
		e.Load(t, chain)
		box.Run(t, "ip", "addr", "add", officePeer+"/24", "dev", "peer0")
		box.Run(t, "ip", "link", "set", "peer0", "up")
		host.Run(t, "ping", "-n", "-q", "-c", "5", "-i", "0.05", "-W", "5", officePeer)
	})
}
