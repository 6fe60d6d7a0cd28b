package sriov

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestChainsRunOnVFsBehindAnIOMMU has two engines on two VFs each, beside Kubernetes.
func TestChainsRunOnVFsBehindAnIOMMU(t *testing.T) {
	r := newRig(t)
	pf, vfs := r.functions(t)
	t.Run("the card has four VFs, each in an IOMMU group of its own and in the hands of vfio-pci", func(t *testing.T) { r.checkGroups(t, pf, vfs) })
	if len(vfs) < 4 {
		t.FailNow()
	}

	chain := r.put(t, compile(t), "chain.pb")
	const insideA, outsideA, insideB, outsideB = 101, 102, 103, 104
	for i, vlan := range []int{insideA, outsideA, insideB, outsideB} {
		r.run(t, "ip link set %s vf %d vlan %d", pf, i, vlan)
	}
	t.Cleanup(func() {
		for i := range vfs {
			_, _ = r.try("ip link set %s vf %d vlan 0", pf, i)
		}
	})
	one := newPeers(t, r.cable, insideA, outsideA)
	two := newPeers(t, r.cable, insideB, outsideB)
	a := r.startEngine(t, "chain-a", chain, vfs[0], vfs[1])

	t.Run("TCP and UDP pass firewall, router and NAPT, and come back", func(t *testing.T) { one.converse(t) })
	t.Run("a host of another VLAN does not reach the chain", func(t *testing.T) {
		if err := two.ask("udp", "is anybody there?"); err == nil {
			t.Errorf("the host in VLAN %d was answered through a chain whose VFs are in %d and %d", insideB, insideA, outsideA)
		}
	})
	t.Run("frames of a VF carry its VLAN and no other", func(t *testing.T) {
		seen := r.cable.Senders(t, func() { one.converse(t) })
		for i, vlan := range []uint16{insideA, outsideA} {
			if got := seen[vfs[i].mac]; len(got) != 1 || got[0] != vlan {
				t.Errorf("VF %d sends in VLANs %v, want %d", i, got, vlan)
			}
		}
	})
	b := r.startEngine(t, "chain-b", chain, vfs[2], vfs[3])
	t.Run("two chains side by side, neither sees the other's frames", func(t *testing.T) {
		ofA := func() uint64 { return a.packets(t) }
		ofB := func() uint64 { return b.packets(t) }
		before := settled(t, ofB)
		one.converse(t)
		if n := settled(t, ofB) - before; n != 0 {
			t.Errorf("chain b had %d packets while only chain a was talked to", n)
		}
		before = settled(t, ofA)
		two.converse(t)
		if n := settled(t, ofA) - before; n != 0 {
			t.Errorf("chain a had %d packets while only chain b was talked to", n)
		}
	})
	t.Run("a frame in the wrong VLAN or for another address does not reach the VF", func(t *testing.T) { r.checkFilters(t, a, vfs[0], insideA, insideB) })
}

// checkFilters tells whether frames in another VLAN than a VF's, and for other addresses, are kept from its chain.
func (r *rig) checkFilters(t *testing.T, a *engine, of function, own, other uint16) {
	counted := func(send func()) uint64 {
		before, after := settled(t, func() uint64 { return a.packets(t) }), uint64(0)
		send()
		r.cable.Send(t, query(of.mac, own))
		eventually(t, patience, func() error {
			if after = a.packets(t); after == before {
				return errors.New("a frame for VF 0 in its VLAN did not arrive")
			}
			return nil
		})
		after = settled(t, func() uint64 { return a.packets(t) })
		return after - before
	}
	right := counted(func() {})
	both := counted(func() {
		for range 8 {
			r.cable.Send(t, query(of.mac, other))
			r.cable.Send(t, query(of.mac, 0))
			r.cable.Send(t, query(packets.MAC{2, 0, 0, 0, 0, 0x99}, own))
		}
	})
	if both != right {
		t.Errorf("a frame in its VLAN and for its address counts %d, the same after 24 others %d: want them kept from the chain", right, both)
	}
}

// checkGroups tells whether each VF has a group for itself.
func (r *rig) checkGroups(t *testing.T, pf string, vfs []function) {
	groups := map[string]bool{}
	for _, vf := range vfs {
		out := r.run(t, "cd /sys/bus/pci/devices/%s; basename $(readlink driver); basename $(readlink iommu_group); ls iommu_group/devices", vf.address)
		f := strings.Fields(out)
		if len(f) != 3 || f[0] != "vfio-pci" || f[2] != vf.address || groups[f[1]] {
			t.Errorf("VF %s: driver, group and the group's devices are %q; want vfio-pci and a group for itself", vf.address, f)
			continue
		}
		groups[f[1]] = true
	}
	if len(vfs) != 4 {
		t.Errorf("%s has %d VFs, want 4", pf, len(vfs))
	}
}

// compile writes the chain's program to a file.
func compile(t testing.TB) string {
	t.Helper()
	return writeProgram(t, lab.Compile(t, lab.Parse(t, "testdata/chain.yaml")))
}

func writeProgram(t testing.TB, p *lab.Program) string {
	t.Helper()
	data, err := program.Encode(p.Program)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "chain.pb")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// engine runs in the guest as a service of its init.
type engine struct {
	rig  *rig
	name string
}

func (r *rig) startEngine(t testing.TB, name, program string, inside, outside function) *engine {
	t.Helper()
	r.run(t, `systemd-run --quiet --unit %[1]s /opt/sinter/bin/sinter-engine --socket /run/%[1]s.sock --program %[2]s \
--bind inside=%[3]s --bind outside=%[4]s --rx-desc 512 --tx-desc 512 --buffers 8191 --idle-sleep 1000`, name, program, inside.address, outside.address)
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := r.try("journalctl --no-pager --unit %s", name)
			t.Log(out)
		}
		_, _ = r.try("systemctl stop %s; systemctl reset-failed %s || true", name, name)
	})
	e := &engine{r, name}
	eventually(t, patience, func() error {
		_, err := r.try("systemctl is-active --quiet %[1]s && test -S /run/%[1]s.sock", name)
		return err
	})
	return e
}

// packets is how many came to the engine's chain.
func (e *engine) packets(t testing.TB) uint64 {
	t.Helper()
	return e.rig.counters(t, "/run/"+e.name+".sock").packets()
}

// query is a frame with a UDP packet of the host.
func query(to packets.MAC, vlan uint16) []byte {
	var tags []packets.Tag
	if vlan != 0 {
		tags = []packets.Tag{{TPID: packets.TPID8021Q, TCI: vlan}}
	}
	ip := packets.IPv4{Src: 0x0a000002, Dst: 0xcb0071fe, Proto: packets.ProtoUDP, TTL: 64, Payload: make([]byte, 8+20)}
	return packets.Ethernet(to, packets.MAC{2, 0, 0, 0, 0, 1}, tags, packets.EtherIPv4, ip.Bytes(), nil)
}
