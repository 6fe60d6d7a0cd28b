package sriov

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// flowCount is how many flows go through the NAPT: what an emulated processor does in seconds; SINTER_FLOWS asks for others.
const flowCount = 10_000

// A line that test/sriov/flows prints.
type flowStep struct {
	Name                        string
	Seconds                     float64
	Sent, Answered              int64
	Reordered, Rebound, Strange int64
	Workers                     []struct{ Packets, Handed, Taken int64 }
	Ports                       []struct {
		Interface                  string
		Received, Strays           int64
		Checked, Misqueued, Marked int64
		Rules                      []struct {
			Number               uint32
			Verdict              string
			Agreed, Contradicted uint64
		}
	}
	Owners []uint32
}

func TestEachPacketComesToItsShardsOwnerByTheDevicesOwnRules(t *testing.T) {
	r := newRig(t)
	flows := flowCount
	if text := os.Getenv("SINTER_FLOWS"); text != "" {
		var err error
		if flows, err = strconv.Atoi(text); err != nil || flows < 1024 || flows > 1_000_000 {
			t.Fatalf("SINTER_FLOWS=%s: want a number from 1024 to 1000000", text)
		}
	}
	r.startSteered(t, "net_tap0,iface=inside", "inside", "outside")
	steps := map[string]flowStep{}
	for _, s := range r.converse(t, flows, "") {
		steps[s.Name] = s
		t.Logf("%s: %.1f s, %d packets sent, %d came back, workers %+v", s.Name, s.Seconds, s.Sent, s.Answered, s.Workers)
	}
	t.Run("rules of both ports were seen to be executed", func(t *testing.T) { steps["later packets"].checkRules(t) })
	t.Run("no packet is lost while rules are made", func(t *testing.T) {
		s := steps["rules are made"]
		s.checkWhole(t)
	})
	for _, name := range []string{"first packets", "later packets", "before the move", "after the move", "all again"} {
		t.Run(name+": none comes to another worker than its shard's", func(t *testing.T) {
			s := steps[name]
			s.checkWhole(t)
			for i, w := range s.Workers {
				if w.Handed != 0 || w.Taken != 0 {
					t.Errorf("worker %d handed over %d packets and took %d, want none", i, w.Handed, w.Taken)
				}
			}
			for _, p := range s.Ports {
				if p.Strays != 0 || p.Misqueued != 0 {
					t.Errorf("%s: %d strays, %d packets by another queue than the rule's; want none", p.Interface, p.Strays, p.Misqueued)
				}
			}
		})
	}
	t.Run("both workers have their part", func(t *testing.T) {
		s := steps["first packets"]
		for i, w := range s.Workers {
			if w.Packets < s.Sent/2 {
				t.Errorf("worker %d had %d packets of %d in each direction, want a quarter of both at least", i, w.Packets, s.Sent)
			}
		}
	})
	t.Run("what the firewall bans, the device drops", func(t *testing.T) {
		s := steps["banned packets"]
		dropped := r.droppedByRules(t, "inside")
		for _, p := range s.Ports {
			if p.Received > 64 { // beside ARP
				t.Errorf("%s: %d packets came to software", p.Interface, p.Received)
			}
		}
		if dropped != bannedPackets {
			t.Errorf("the kernel's rules counted %d dropped packets, want %d", dropped, bannedPackets)
		}
	})
	t.Run("shards move to another worker, and the rules follow", func(t *testing.T) { checkMove(t, steps) })
}

// checkMove tells whether packets come to the new owner of their shard.
func checkMove(t *testing.T, steps map[string]flowStep) {
	before, during, after := steps["before the move"], steps["during the move"], steps["after the move"]
	during.checkWhole(t)
	was, is := during.movedFrom(steps["before the move"].Owners)
	if was == is {
		t.Fatalf("no shard moved: owners %v", during.Owners)
	}
	for _, c := range []struct {
		when string
		step flowStep
		at   int
	}{{"before", before, was}, {"after", after, is}} {
		if had := c.step.Workers[c.at].Packets; had < 2*c.step.Sent {
			t.Errorf("%s the move, worker %d had %d packets, want all %d of both directions", c.when, c.at, had, 2*c.step.Sent)
		}
		if had := c.step.Workers[1-c.at].Packets; had > 64 { // ARP
			t.Errorf("%s the move, worker %d had %d packets of the others' shards", c.when, 1-c.at, had)
		}
	}
}

// checkRules tells whether rules of each port were seen to be executed, and none was contradicted.
func (s flowStep) checkRules(t *testing.T) {
	for _, p := range s.Ports {
		executed := 0
		for _, rule := range p.Rules {
			if rule.Contradicted > 0 {
				t.Errorf("%s: rule %d is contradicted by %d packets", p.Interface, rule.Number, rule.Contradicted)
			}
			if rule.Verdict == "EXECUTED" {
				executed++
			}
		}
		t.Logf("%s: %d rules, %d seen to be executed, %d packets compared", p.Interface, len(p.Rules), executed, p.Checked)
		if executed < 2 {
			t.Errorf("%s: %d of %d rules were seen to be executed, want one for each worker at least", p.Interface, executed, len(p.Rules))
		}
	}
}

func TestACardThatIgnoresItsRulesIsFoundOut(t *testing.T) {
	r := newRig(t)
	probe := r.spareCard(t)
	r.startSteered(t, spareCard, "outside")
	contradicted := uint64(0)
	for _, s := range r.converse(t, 1024, fmt.Sprintf("--inside %s --alone %s", probe, spareMAC)) {
		for _, rule := range s.Ports[0].Rules {
			t.Logf("%s: rule %d: %s, %d packets agree, %d do not", s.Name, rule.Number, rule.Verdict, rule.Agreed, rule.Contradicted)
			contradicted += rule.Contradicted
			if (rule.Contradicted > 0) != (rule.Verdict == "IGNORED") {
				t.Errorf("%s: %d packets contradict the rule, and the verdict is %s", s.Name, rule.Contradicted, rule.Verdict)
			}
		}
	}
	if contradicted == 0 {
		t.Error("no packet contradicts the rules: QEMU's igb knows no such filters")
	}
	eventually(t, patience, func() error {
		_, err := r.try(`journalctl --no-pager _SYSTEMD_INVOCATION_ID=$(systemctl show --property InvocationID --value flow-agent) |
grep 'net_e1000_igb does not do what its driver says'`)
		return err
	})
}

// bannedPackets are sent by test/sriov/flows.
const bannedPackets = 4096

// checkWhole wants all packets back, in their order, by their bindings.
func (s *flowStep) checkWhole(t *testing.T) {
	t.Helper()
	if s.Sent == 0 || s.Answered != s.Sent {
		t.Errorf("%d packets were sent and %d came back, want all", s.Sent, s.Answered)
	}
	if s.Reordered != 0 || s.Rebound != 0 || s.Strange != 0 {
		t.Errorf("%d packets came behind later ones, %d by another binding, %d are nobody's; want none", s.Reordered, s.Rebound, s.Strange)
	}
}

// movedFrom is the worker that had the first shard that is another's now, and the one that has it.
func (s *flowStep) movedFrom(before []uint32) (was, is int) {
	for i, owner := range s.Owners {
		if before[i] != owner {
			return int(before[i]), int(owner)
		}
	}
	return 0, 0
}

// startSteered has an engine with two workers run in the guest on a device inside and a TAP device outside, and the agent give them its
// rules. The agent has no cluster: what runs is the program that it finds as its last good one. taps are made for it.
func (r *rig) startSteered(t *testing.T, inside string, taps ...string) {
	t.Helper()
	chain := lab.Compile(t, lab.Parse(t, "testdata/flows.yaml"))
	program := writeProgram(t, chain)
	r.run(t, `
mkdir -p /run/flow/programs
for i in %s; do
  ip tuntap add $i mode tap multi_queue
  sysctl -q -w net.ipv6.conf.$i.disable_ipv6=1
  ip link set $i txqueuelen 4000 up
done
echo '%s' >/run/flow/kubeconfig`, strings.Join(taps, " "), noCluster)
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := r.try("journalctl --no-pager --lines 40 --output cat --unit flow-engine --unit flow-agent")
			t.Log(out)
		}
		_, _ = r.try(`
for unit in flow-agent flow-engine; do systemctl stop $unit; systemctl reset-failed $unit || true; done
for i in %s; do ip link del $i; done
rm -rf /run/flow /tmp/flows /tmp/program.pb`, strings.Join(taps, " "))
	})
	r.run(t, "mv %s /run/flow/programs/%s.pb; ln -s %[2]s.pb /run/flow/programs/current", r.put(t, program, "program.pb"), chain.Hash)
	r.run(t, `
systemd-run --quiet --unit flow-engine /opt/sinter/bin/sinter-engine --socket /run/flow/engine.sock --workers 2 \
  --bind inside=%s --bind outside=net_tap1,iface=outside --rx-desc 512 --tx-desc 512 --buffers 16383 --idle-sleep 200
systemd-run --quiet --unit flow-agent /opt/sinter/bin/sinter-agent run --folder /run/flow --kubeconfig /run/flow/kubeconfig \
  --namespace default --instance flows-0 --balance=false --metrics-bind= --probes-bind 127.0.0.1:18081`, inside)
}

// noCluster is how to reach an API server that is not there.
const noCluster = `{"apiVersion": "v1", "kind": "Config", "current-context": "none",
"clusters": [{"name": "none", "cluster": {"server": "http://127.0.0.1:9"}}],
"contexts": [{"name": "none", "context": {"cluster": "none", "user": "none"}}],
"users": [{"name": "none", "user": {}}]}`

// converse has the guest's other processes be all hosts and the server.
func (r *rig) converse(t *testing.T, flows int, more string) []flowStep {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "flows")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", binary, "./flows")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build ./flows: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience+time.Duration(flows)*10*time.Millisecond)
	defer cancel()
	out, err := r.Run(ctx, fmt.Sprintf("%s --socket /run/flow/engine.sock --flows %d %s", r.put(t, binary, "flows"), flows, more))
	if err != nil {
		t.Fatal(err)
	}
	var steps []flowStep
	if err := json.Unmarshal([]byte(out), &steps); err != nil {
		t.Fatalf("flows: %v\n%s", err, out)
	}
	return steps
}

// droppedByRules is what the kernel counted as dropped by the rules of a TAP device.
func (r *rig) droppedByRules(t *testing.T, device string) (n int64) {
	t.Helper()
	var filters []struct {
		Options struct {
			Actions []struct {
				Kind    string
				Control struct{ Type string } `json:"control_action"`
				Stats   struct{ Packets int64 }
			}
		}
	}
	out := r.run(t, "tc -s -j filter show dev %s parent 1:", device)
	if err := json.Unmarshal([]byte(out), &filters); err != nil {
		t.Fatalf("tc: %v\n%s", err, out)
	}
	for _, f := range filters {
		for _, a := range f.Options.Actions {
			if a.Kind == "gact" && a.Control.Type == "drop" {
				n += a.Stats.Packets
			}
		}
	}
	return n
}
