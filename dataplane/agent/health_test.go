package agent

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/health"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/agenttest"
)

// serving is a program with a load balancer whose backends have one port, and are checked at it.
func serving(t *testing.T, port uint16, backends ...uint32) *delivery.Program {
	t.Helper()
	p := proto.CloneOf(agenttest.Program(t, "served", "in", "out").Program)
	b := &programpb.Balancer{
		TcpMs: 1000, TcpTransitoryMs: 1000, UdpMs: 1000,
		Check: &programpb.HealthCheck{IntervalMs: 50, TimeoutMs: 1000, Unhealthy: 2, Healthy: 2},
	}
	for _, address := range backends {
		b.Backends = append(b.Backends, &programpb.Backend{Address: address, Port: uint32(port), Weight: 1})
	}
	p.Tables = []*programpb.StateTable{{Name: "lb/balancer", MaxSessions: 16, Balancer: b}}
	return agenttest.Encoded(t, p)
}

// TestAnAgentTellsItsEngineWhichBackendsAreDown has one backend that accepts connections and one that refuses them. The engine is told again and
// again, as it may be another one.
func TestAnAgentTellsItsEngineWhichBackendsAreDown(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	up := listener.Addr().(*net.TCPAddr).AddrPort()
	down := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), up.Port())
	wanted := serving(t, up.Port(), 0x7f000001, 0x7f000002)
	c := agenttest.NewCluster(t, agenttest.Instance("edge-1"), agenttest.ChainProgram(t, "edge-1", wanted))
	p := startPod(t, c, agenttest.Quiet)
	agenttest.Eventually(t, func() error {
		for _, b := range p.health.Conditions() {
			if b.Target == (health.Target{Table: "lb/balancer", Backend: down}) && !b.Up {
				return nil
			}
		}
		return fmt.Errorf("%v, want %s down", p.health.Conditions(), down)
	})
	engine, err := control.Dial(t.Context(), p.engine.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	for range 2 {
		agenttest.Eventually(t, func() error {
			changed, err := engine.SetBackends(t.Context(), nil) // as if it were another engine
			if err == nil && !changed {
				err = errors.New("the engine is told nothing")
			}
			return err
		})
	}
	if err := agenttest.Wants(p.engine.Runs(), wanted); err != nil {
		t.Error(err)
	}
}

// TestBackendsGoDownBesideRoutesOfStores has the engine build its program again, which names its table of routes by the hash alone.
func TestBackendsGoDownBesideRoutesOfStores(t *testing.T) {
	store := agenttest.NewStore(t)
	balancer := `  - {name: lb, loadBalancer: {virtual: [{name: web, addresses: [198.51.100.80], ports: [80]}], backends: [{address: 10.0.0.2}, {address: 10.0.0.3}]}}`
	wanted := agenttest.Stored(t, routed(balancer, "lb, ", store.Put("a", text(0, 300))))
	c := agenttest.NewCluster(t, agenttest.Instance("edge-1"), agenttest.ChainProgram(t, "edge-1", wanted))
	p := startPod(t, c, agenttest.Quiet)
	agenttest.Eventually(t, func() error { return hasTable(c, t, wanted, 303) })
	engine, err := control.Dial(t.Context(), p.engine.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	down := &programpb.BackendState{Table: "lb/balancer", Address: 0x0a000002}
	if changed, err := engine.SetBackends(t.Context(), []*programpb.BackendState{down}); err != nil || !changed {
		t.Errorf("changed: %t (%v), want that a backend is down", changed, err)
	}
	if err := agenttest.Wants(p.engine.Runs(), wanted); err != nil {
		t.Error(err)
	}
}
