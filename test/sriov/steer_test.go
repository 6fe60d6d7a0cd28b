package sriov

import (
	"encoding/json"
	"strings"
	"testing"
)

// steerReport is what sinter-steercheck prints.
type steerReport struct {
	Driver string
	Queues int
	RSS    struct {
		Hashes  bool
		Buckets int
	}
	Rules []struct {
		Match       string
		Queue, Drop struct {
			Seen    [][]int
			Before  []int
			Verdict string
			Why     string
		}
	}
}

// The card without VFs, and the kernel interface on its cable, as hack/sriov/node.sh makes them.
const (
	spareCard = "0000:02:00.0"
	spareMAC  = "52:54:00:00:00:03"
	probeMAC  = "52:54:00:00:00:04"
	eal       = "--in-memory -l 0 -m 64"
)

// spareCard gives the card to vfio-pci, and returns the interface on its cable.
func (r *rig) spareCard(t *testing.T) (probe string) {
	t.Helper()
	r.run(t, `
cd /sys/bus/pci/devices/%[1]s
echo vfio-pci >driver_override
[[ ! -e driver ]] || echo %[1]s >driver/unbind
echo %[1]s >/sys/bus/pci/drivers_probe`, spareCard)
	probe = r.run(t, "basename $(dirname $(grep -l %s /sys/class/net/*/address))", probeMAC)
	r.run(t, "ip link set %s up", probe)
	return probe
}

func (r *rig) steercheck(t *testing.T, device, probe, more string) steerReport {
	t.Helper()
	out := r.run(t, "/opt/sinter/bin/sinter-steercheck --device %s --probe %s -- %s %s 2>/run/steercheck.log || { cat /run/steercheck.log >&2; exit 1; }", device, probe, eal, more)
	var report steerReport
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("sinter-steercheck: %v\n%s", err, out)
	}
	if len(report.Rules) == 0 {
		t.Fatalf("sinter-steercheck tried no rules:\n%s", out)
	}
	return report
}

func TestFlowRulesAreTriedBeforeTheyAreBelieved(t *testing.T) {
	r := newRig(t)
	t.Run("a TAP port executes rules in the guest's kernel: packets arrive on the queue, or not at all", func(t *testing.T) {
		r.run(t, `
ip link add probe type veth peer name wire
ip link add bridge type bridge
ip tuntap add rules mode tap multi_queue
for i in probe wire bridge rules; do ip link set $i up; done
for i in wire rules; do ip link set $i master bridge; done`)
		t.Cleanup(func() { _, _ = r.try("ip link del bridge; ip link del probe; ip link del rules") })
		vlan := false
		for _, rule := range r.steercheck(t, "net_tap0,iface=rules", "probe", "--no-pci").Rules {
			t.Logf("%s: to a queue: %s %v, drop: %s %v", rule.Match, rule.Queue.Verdict, rule.Queue.Seen, rule.Drop.Verdict, rule.Drop.Seen)
			executed := rule.Queue.Verdict == "executed" && rule.Drop.Verdict == "executed"
			// DPDK 22.11 reads a VLAN's mask in the wrong byte order: only some forms do what they say, which is what trying is for.
			if strings.HasPrefix(rule.Match, "VLAN") {
				vlan = vlan || executed
			} else if !executed {
				t.Errorf("%s: to a queue: %s %v; drop: %s %v (before: %v); want both executed", rule.Match,
					rule.Queue.Verdict, rule.Queue.Seen, rule.Drop.Verdict, rule.Drop.Seen, rule.Drop.Before)
			}
		}
		if !vlan {
			t.Error("no form of a VLAN's rule was executed")
		}
	})
	t.Run("a card that takes rules and does not execute them is found out", func(t *testing.T) {
		probe := r.spareCard(t)
		taken := 0
		for _, rule := range r.steercheck(t, spareCard, probe, "-a "+spareCard).Rules {
			t.Logf("%s: %s %v %s", rule.Match, rule.Queue.Verdict, rule.Queue.Seen, rule.Queue.Why)
			switch rule.Queue.Verdict {
			case "ignored":
				taken++
			case "executed":
				t.Errorf("%s: executed, packets were seen at %v: QEMU's igb knows no such filters", rule.Match, rule.Queue.Seen)
			}
		}
		if taken == 0 {
			t.Error("no rule was taken: want some that are taken and not executed")
		}
	})
	t.Run("a VF says that it has neither flow rules nor RSS", func(t *testing.T) {
		pf, vfs := r.functions(t)
		report := r.steercheck(t, vfs[0].address, pf, "-a "+vfs[0].address)
		if report.RSS.Buckets != 0 || report.Queues > 2 {
			t.Errorf("VF %s: %d queues, RSS %+v; want none", vfs[0].address, report.Queues, report.RSS)
		}
		for _, rule := range report.Rules {
			if rule.Queue.Verdict != "refused" || rule.Queue.Why == "" {
				t.Errorf("%s: %s (%s), want it refused with the driver's words", rule.Match, rule.Queue.Verdict, rule.Queue.Why)
			}
		}
		t.Logf("%s, %d queues, RSS %+v, rules: %s", report.Driver, report.Queues, report.RSS, report.Rules[0].Queue.Why)
	})
}
