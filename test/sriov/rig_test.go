package sriov

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
	"github.com/sinter-nfv/sinter/test/sriov/guest"
	"github.com/sinter-nfv/sinter/test/sriov/trunk"
	"github.com/sinter-nfv/sinter/test/wait"
)

// patience is how long tests wait for what must happen; the guest's processor is a program.
const patience = 5 * time.Minute

// rig is the guest that make sriov-node left.
type rig struct {
	*guest.Guest
	cable *trunk.Trunk
}

func newRig(t *testing.T) *rig {
	t.Helper()
	state := os.Getenv("SINTER_SRIOV")
	if state == "" {
		t.Skip("needs the guest with the SR-IOV card: run make sriov-node e2e-sriov")
	}
	lab.Require(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	g, err := guest.Dial(ctx, filepath.Join(state, "agent.sock"), filepath.Join(state, "qmp.sock"))
	if err != nil {
		t.Fatalf("SINTER_SRIOV=%s: %v: does the guest run (make sriov-node)?", state, err)
	}
	t.Cleanup(func() { _ = g.Close() })
	r := &rig{g, trunk.Open(t, state)}
	r.run(t, "systemctl is-system-running --wait") // booted
	return r
}

// try runs a script in the guest.
func (r *rig) try(script string, args ...any) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := r.Run(ctx, fmt.Sprintf("set -euo pipefail\n"+script, args...))
	return strings.TrimSpace(out), err
}

// run is try for scripts that must succeed.
func (r *rig) run(t testing.TB, script string, args ...any) string {
	t.Helper()
	out, err := r.try(script, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// put copies a file into the guest's folder /tmp and returns its path there.
func (r *rig) put(t testing.TB, local, name string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	remote := "/tmp/" + name
	if err := r.Put(ctx, local, remote); err != nil {
		t.Fatalf("put %s into the guest: %v", local, err)
	}
	return remote
}

// function is a VF.
type function struct {
	index   int    // of its PF
	address string // on the PCI bus
	mac     packets.MAC
}

// functions are the PF's VFs, and the PF's name.
func (r *rig) functions(t testing.TB) (pf string, vfs []function) {
	t.Helper()
	out := r.run(t, `
cd /sys/class/net
for total in */device/sriov_totalvfs; do
  pf=${total%%%%/*}
  [[ $(cat $pf/device/sriov_numvfs) != 0 ]] || continue
  echo $pf
  for i in $(seq 0 $(($(cat $pf/device/sriov_numvfs) - 1))); do
    mac=$(ip link show $pf | sed -nE "s/^ *vf $i +link\/ether ([0-9a-f:]+).*/\1/p")
    echo $i $(basename $(readlink $pf/device/virtfn$i)) $mac
  done
done`)
	lines := strings.Split(out, "\n")
	for _, line := range lines[1:] {
		var f function
		var address string
		_, err := fmt.Sscan(line, &f.index, &f.address, &address)
		mac, malformed := net.ParseMAC(address)
		if err := errors.Join(err, malformed); err != nil {
			t.Fatalf("VF %q of %s: %v", line, lines[0], err)
		}
		f.mac = packets.MAC(mac)
		vfs = append(vfs, f)
	}
	return lines[0], vfs
}

// counters are what an engine counts.
type counters struct {
	Classes []struct{ Packets uint64 }
	Drops   []struct {
		Reason  string
		Packets uint64
	}
	Interfaces []struct {
		Name           string
		Received, Sent struct{ Packets uint64 }
		Missed         uint64
	}
}

// counters are those of an engine in the guest.
func (r *rig) counters(t testing.TB, socket string) counters {
	t.Helper()
	c, err := r.tryCounters(socket)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (r *rig) tryCounters(socket string) (c counters, err error) {
	// The names of sockets are short: one in a pod's folder must be called from there.
	out, err := r.try("cd %s; /opt/sinter/bin/sinterctl stats --socket %s --output json", path.Dir(socket), path.Base(socket))
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		return c, fmt.Errorf("sinterctl stats: %w\n%s", err, out)
	}
	return c, nil
}

// packets is how many the chain passed or dropped: frames without ARP, which goes on between neighbours when nobody talks.
func (c counters) packets() (n uint64) {
	for _, row := range c.Classes {
		n += row.Packets
	}
	return n + c.dropped()
}

func (c counters) received() (n uint64) {
	for _, i := range c.Interfaces {
		n += i.Received.Packets
	}
	return n
}

func (c counters) sent() (n uint64) {
	for _, i := range c.Interfaces {
		n += i.Sent.Packets
	}
	return n
}

func (c counters) missed() (n uint64) {
	for _, i := range c.Interfaces {
		n += i.Missed
	}
	return n
}

// dropped is how many were dropped, ARP not counted.
func (c counters) dropped() (n uint64) {
	for _, d := range c.Drops {
		n += d.Packets
	}
	return n - c.arp()
}

func (c counters) arp() (n uint64) {
	for _, d := range c.Drops {
		if d.Reason == "arp" {
			n = d.Packets
		}
	}
	return n
}

// settled is a count that no longer grows: the last segments of a connection come after its ends have gone.
func settled(t testing.TB, count func() uint64) (n uint64) {
	t.Helper()
	n = count()
	eventually(t, patience, func() error {
		time.Sleep(time.Second)
		before := n
		if n = count(); n != before {
			return fmt.Errorf("still counting: %d, then %d", before, n)
		}
		return nil
	})
	return n
}

// eventually waits until a check has nothing to say any more. It asks once a second: questions cost the guest as much as its work.
func eventually(t testing.TB, limit time.Duration, check func() error) {
	t.Helper()
	wait.Until(t, limit, time.Second, check)
}
