package offload

import (
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/control/flowspb"
	"github.com/sinter-nfv/sinter/dataplane/dispatch"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/agenttest"
)

// says checks what is said of an interface.
func says(t *testing.T, d *Dispatch, iface string, dispatcher v1alpha1.Dispatcher, words ...string) {
	t.Helper()
	for _, p := range d.State().Ports {
		if p.Interface != iface {
			continue
		}
		if p.Dispatcher != dispatcher {
			t.Errorf("%s: dispatcher %s because %q, want %s", iface, p.Dispatcher, p.Reason, dispatcher)
		}
		for _, w := range words {
			if !strings.Contains(p.Reason, w) {
				t.Errorf("%s: it is said %q, want %q in it", iface, p.Reason, w)
			}
		}
		return
	}
	t.Errorf("nothing is said of %s", iface)
}

func TestACapableDeviceGetsRulesAndIsInForceWhenItIsSeenToExecuteThem(t *testing.T) {
	c, p := newCards(t, 2), agenttest.Office(t, "23")
	c.obeyed = false
	d := dispatching(c)
	c.load(d, p)
	c.run(d, p, 2)
	if len(c.cuts) != 1 || c.cuts[0].GetBy() != controlpb.Partitioning_ADDRESS {
		t.Errorf("flows are cut by %v, want by address: devices match any bits of it", c.cuts)
	}
	says(t, d, "inside", v1alpha1.DispatcherSoftware, "no packet has confirmed yet that net_able executes its flow rules")
	c.obeyed = true
	c.run(d, p, 6)
	says(t, d, "inside", v1alpha1.DispatcherFlow, "flow rules of net_able choose the core; it drops and marks packets by class")
	says(t, d, "outside", v1alpha1.DispatcherFlow)
	if k := c.kinds("inside"); k[flowspb.FlowRule_DROP] == 0 || k[flowspb.FlowRule_QUEUE] == 0 {
		t.Errorf("rules: %v, want some that drop and some that choose queues", k)
	}
	if !c.state["inside"].GetBelieved() {
		t.Error("marks were seen to be right, and are not believed")
	}
	if got := c.queues(); !maps.Equal(got, map[uint32]int{0: 64, 1: 64}) {
		t.Errorf("shards by queue: %v, want 64 each", got)
	}
	created := c.created
	c.run(d, p, 60)
	if c.created != created {
		t.Errorf("%d rules were made again although nothing has changed", c.created-created)
	}
}

func TestADeviceThatDoesOtherwiseLosesItsRulesAndIsNamed(t *testing.T) {
	c, p := newCards(t, 2), agenttest.Office(t, "23")
	d := dispatching(c)
	c.load(d, p)
	c.run(d, p, 3)
	lie := func(seconds int) {
		for range seconds {
			c.ports[0].FlowChecked += 20
			c.ports[0].FlowMisqueued += 12
			c.run(d, p, 1)
		}
	}
	lie(maxDoubts - 1)
	if len(c.rules["inside"]) == 0 {
		t.Error("rules were taken out at the first doubt")
	}
	c.run(d, p, 120)
	lie(maxDoubts - 1)
	if len(c.rules["inside"]) == 0 {
		t.Error("doubts that are minutes apart are no reason to take rules out")
	}
	lie(2)
	if n := len(c.rules["inside"]); n != 0 {
		t.Errorf("%d rules are left", n)
	}
	says(t, d, "inside", v1alpha1.DispatcherSoftware, "net_able does not do what its driver says: of ", "come by another queue")
	says(t, d, "outside", v1alpha1.DispatcherFlow)
	if s := d.State().Ports[0]; s.Withdrawn == 0 || s.Rules != 0 {
		t.Errorf("counted: %+v, want rules withdrawn", s)
	}
	c.restart() // the device is the same
	c.cuts = nil
	c.load(d, p)
	c.run(d, p, 3)
	if n := len(c.rules["inside"]); n != 0 {
		t.Errorf("under another engine the device has %d rules again", n)
	}
}

func TestWhatADriverRefusesIsDoneWithout(t *testing.T) {
	for name, test := range refusals {
		t.Run(name, func(t *testing.T) {
			c, p := newCards(t, 2), agenttest.Office(t, "23")
			c.refuses = test.refuses
			d := dispatching(c)
			c.load(d, p)
			c.run(d, p, 40)
			test.check(t, c)
			dispatcher := v1alpha1.DispatcherFlow
			if len(c.rules["inside"]) == 0 {
				dispatcher = v1alpha1.DispatcherSoftware
			}
			says(t, d, "inside", dispatcher, test.says)
			refused := d.State().Ports[0].Refused
			if refused == 0 || refused > maxRefusals {
				t.Errorf("%d refusals are counted, want some, and %d at most", refused, maxRefusals)
			}
			c.run(d, p, 60)
			if more := d.State().Ports[0].Refused - refused; more != 0 {
				t.Errorf("%d more refusals in the next minute", more)
			}
		})
	}
}

// refusals are what drivers refuse, and what is left then.
var refusals = map[string]struct {
	refuses func(*flowspb.FlowRule, int) string
	check   func(t *testing.T, c *cards)
	says    string
}{
	"marks": {
		func(r *flowspb.FlowRule, _ int) string {
			if r.GetMark() != 0 {
				return "mark is not supported"
			}
			return ""
		},
		func(t *testing.T, c *cards) {
			if k := c.kinds("inside"); k[flowspb.FlowRule_DROP] == 0 || k[flowspb.FlowRule_QUEUE] == 0 {
				t.Errorf("rules: %v, want drops and queues", k)
			}
		},
		"flow rules of net_able choose the core; it drops packets by class (no marks: mark is not supported)",
	},
	"room": {
		func(_ *flowspb.FlowRule, has int) string {
			if has >= 12 {
				return "No space left on device"
			}
			return ""
		},
		func(t *testing.T, c *cards) {
			if n := len(c.rules["inside"]); n == 0 || n > 12 {
				t.Errorf("%d rules, want some, and 12 at most", n)
			}
		},
		"(no more than 12 rules: No space left on device)",
	},
	"everything": {
		func(*flowspb.FlowRule, int) string { return "Operation not supported" },
		func(t *testing.T, c *cards) {
			if n := len(c.rules["inside"]); n != 0 {
				t.Errorf("%d rules", n)
			}
		},
		"Operation not supported",
	},
}

func TestBeforeANewProgramOnlyRulesStayThatAreRightForBoth(t *testing.T) {
	c, first, second := newCards(t, 2), agenttest.Office(t, "23"), agenttest.Office(t, "25")
	c.devices[0].Flows.Jump = true // else what chooses queues goes with what marks
	d := dispatching(c)
	c.load(d, first)
	c.run(d, first, 3)
	before := maps.Clone(c.rules["inside"])
	marks, err := d.Before(t.Context(), second, false)
	if err != nil {
		t.Fatal(err)
	}
	if marks.GetGeneration() != (c.hello.GetMarks().GetGeneration()+1)%dispatch.Generations {
		t.Errorf("marks: %v after %v, want another generation", marks, c.hello.GetMarks())
	}
	at := maps.Clone(c.rules["inside"]) // the swap
	for n, r := range at {
		if before[n] == nil {
			t.Errorf("rule %v was made before the program changed", r)
		}
		if r.GetMark() != 0 {
			t.Errorf("rule %v is there when the program changes, and wrong for the new one", r)
		}
	}
	if c.kinds("inside")[flowspb.FlowRule_QUEUE] == 0 {
		t.Error("no rule that chooses queues stayed, although shards stay where they are")
	}
	if d.Step(t.Context(), first, 0) != dispatchBusy {
		t.Error("rules are changed while the program is")
	}
	c.hash, _ = hex.DecodeString(second.Hash)
	c.hello.Marks = marks
	d.After(second)
	c.run(d, second, 3)
	ports := map[uint32]bool{}
	for _, r := range c.rules["inside"] {
		for _, cond := range r.GetConds() {
			if r.GetAction() == flowspb.FlowRule_DROP && cond.GetField() == programpb.Field_DPORT {
				ports[cond.GetValue()] = true
			}
		}
	}
	if !ports[25] || ports[23] {
		t.Errorf("dropped ports: %v, want 25", ports)
	}
	drops := 0
	for n, r := range at {
		if r.GetAction() != flowspb.FlowRule_DROP {
			continue
		}
		drops++
		if c.rules["inside"][n] != r {
			t.Errorf("rule %v dropped packets when the program changed, and the new one does not have it", r)
		}
	}
	if drops == 0 {
		t.Error("no rule that drops directed broadcasts stayed, although both programs do")
	}
}

func TestAProgramThatCannotBeLoadedLeavesTheRulesOfTheOldOne(t *testing.T) {
	c, first, second := newCards(t, 2), agenttest.Office(t, "23"), agenttest.Office(t, "25")
	d := dispatching(c)
	c.load(d, first)
	c.run(d, first, 3)
	want := c.kinds("inside")
	if _, err := d.Before(t.Context(), second, false); err != nil {
		t.Fatal(err)
	}
	d.After(nil)
	c.run(d, first, 3)
	if got := c.kinds("inside"); !maps.Equal(got, want) {
		t.Errorf("rules: %v, want %v", got, want)
	}
}

func TestRulesFollowShardsThatHaveMovedOneByOne(t *testing.T) {
	c, p := newCards(t, 2), agenttest.Office(t, "23")
	d := dispatching(c)
	c.load(d, p)
	c.run(d, p, 3)
	c.owner[5], c.owner[6] = 1, 1
	c.run(d, p, 1)
	if len(c.turns) != 0 {
		t.Error("rules follow at once a shard that may move on")
	}
	c.run(d, p, 3)
	if got := c.queues(); !maps.Equal(got, map[uint32]int{0: 62, 1: 66}) {
		t.Errorf("shards by queue: %v, want 62 and 66", got)
	}
	if len(c.turns) != 4 { // on both interfaces
		t.Errorf("%d turns, want one for each shard and interface", len(c.turns))
	}
	for _, turn := range c.turns {
		if turn.GetFrom() != 0 || turn.GetShard() != 5 && turn.GetShard() != 6 {
			t.Errorf("turn %v, want shards 5 and 6, from worker 0", turn)
		}
	}
	for i := range 40 { // without rest
		c.owner[7] = uint32(i % 2)
		c.run(d, p, 1)
	}
	if len(c.turns) < 8 || len(c.turns) > 16 {
		t.Errorf("%d turns while a shard moves each second for 40 s, want some", len(c.turns)-4)
	}
}

func TestAfterARestartOrAResetAllRulesAreMadeAgain(t *testing.T) {
	c, p := newCards(t, 2), agenttest.Office(t, "23")
	d := dispatching(c)
	c.load(d, p)
	c.run(d, p, 3)
	want := c.kinds("inside")

	c.restart()
	c.run(d, p, 2)
	if len(c.rules["inside"]) != 0 {
		t.Error("an engine without a program got rules")
	}
	c.load(d, p)
	c.run(d, p, 3)
	if got := c.kinds("inside"); !maps.Equal(got, want) {
		t.Errorf("after a restart: rules %v, want %v", got, want)
	}

	c.state["inside"].Resets, c.state["inside"].Lost = 1, "No space left on device"
	for n, r := range c.rules["inside"] {
		if r.GetAction() == flowspb.FlowRule_PASS || r.GetMark() != 0 {
			delete(c.rules["inside"], n) // drops stand alone now
		}
	}
	c.run(d, p, 12)
	if got := c.kinds("inside"); !maps.Equal(got, want) {
		t.Errorf("after a reset that lost some: rules %v, want %v", got, want)
	}
	says(t, d, "inside", v1alpha1.DispatcherFlow)
}

func TestRulesThatAreFoundLostWhenTheyAreToGoAreNotTakenOutAgain(t *testing.T) {
	c, p := newCards(t, 2), agenttest.Office(t, "23")
	d := dispatching(c)
	c.load(d, p)
	c.run(d, p, 3)
	c.state["inside"].Resets++
	for n, r := range c.rules["inside"] {
		if r.GetMark() != 0 {
			delete(c.rules["inside"], n)
		}
	}
	inside := d.ports[0]
	inside.read = c.clock.Now() // they are not looked at again before they are changed
	inside.caps.MarkBits = 0
	inside.version++
	c.run(d, p, 1)
	for _, r := range c.rules["inside"] {
		if r.GetMark() != 0 {
			t.Errorf("rule %v marks", r)
		}
	}
	if k := c.kinds("inside"); k[flowspb.FlowRule_DROP] == 0 || k[flowspb.FlowRule_QUEUE] == 0 || len(inside.table.rules) != len(c.rules["inside"]) {
		t.Errorf("rules: %v, want drops and queues, and all %d that the agent knows of", k, len(inside.table.rules))
	}
}

func TestAnAgentThatIsStartedAnewTakesOutWhatItDoesNotKnow(t *testing.T) {
	c, p := newCards(t, 2), agenttest.Office(t, "23")
	before := dispatching(c)
	c.load(before, p)
	c.run(before, p, 3)
	want := c.kinds("inside")
	generation := c.hello.GetMarks().GetGeneration()

	c.believe = nil
	d := dispatching(c)
	c.run(d, p, 3)
	if got := c.kinds("inside"); !maps.Equal(got, want) {
		t.Errorf("rules %v, want %v as before", got, want)
	}
	if len(c.believe) == 0 || c.believe[0] != flowspb.MarkBelief_NOT_BELIEVED {
		t.Error("marks are believed while rules are taken out in any order")
	}
	for _, r := range c.rules["inside"] {
		if m := r.GetMark(); m != 0 && m>>c.hello.GetMarks().GetShift() != generation {
			t.Errorf("mark %#x, want those of the program that runs, of generation %d", m, generation)
		}
	}
	if len(c.cuts) != 1 {
		t.Errorf("flows were cut %d times, want once, before the first program", len(c.cuts))
	}
}

func TestRulesMatchTheBitsOfTheAddressByWhichTheEngineCutsFlows(t *testing.T) {
	c, p := newCards(t, 2), agenttest.Office(t, "23")
	c.hello.Partitioning = &controlpb.Partitioning{By: controlpb.Partitioning_ADDRESS, Bit: 8} // by its flags, and it has its program
	c.hash, _ = hex.DecodeString(p.Hash)
	d := dispatching(c)
	c.run(d, p, 3)
	says(t, d, "inside", v1alpha1.DispatcherFlow)
	found := 0
	for _, r := range c.rules["inside"] {
		for _, cond := range r.GetConds() {
			if r.GetAction() == flowspb.FlowRule_QUEUE && cond.GetField() == programpb.Field_SRC {
				found++
				if cond.GetMask() != 0x40<<8 {
					t.Errorf("rule %v: want bit 14 of the source address, which tells the halves of 128 shards from bit 8 on", r)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no rule chooses a queue by the source address")
	}
}

func TestRulesThatFillADeviceAreTakenOutByTheNextAgent(t *testing.T) {
	c, first, second := newCards(t, 2), agenttest.Office(t, "23"), agenttest.Office(t, "25")
	before := dispatching(c)
	c.load(before, first)
	c.run(before, first, 3)
	room := len(c.rules["inside"])
	c.devices[0].Flows.Rules = uint32(room)
	d := dispatching(c)
	c.load(d, second) // the first that it does
	for n, r := range c.rules["inside"] {
		t.Errorf("rule %d of the program before, %v, is there under the next", n, r)
	}
	c.run(d, second, 3)
	says(t, d, "inside", v1alpha1.DispatcherFlow)
	if n := len(c.rules["inside"]); n == 0 || n > room {
		t.Errorf("%d rules, want some, and %d at most", n, room)
	}
}

func TestARuleFromBeforeThatCannotBeTakenOutKeepsTheNextProgramOut(t *testing.T) {
	c, first, second := newCards(t, 2), agenttest.Office(t, "23"), agenttest.Office(t, "25")
	before := dispatching(c)
	c.load(before, first)
	c.run(before, first, 3)
	c.stuck = "Device or resource busy"
	d := dispatching(c)
	_, err := d.Before(t.Context(), second, false)
	d.After(nil)
	var refused *control.EngineError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "interface inside: an old flow rule cannot be removed: "+c.stuck) {
		t.Errorf("got %v, want a refusal with the driver's words", err)
	}
}

func TestWithOneCoreDevicesDropAndMarkAndWhatTheyLackIsSaid(t *testing.T) {
	c, p := newCards(t, 1), agenttest.Office(t, "23")
	c.owner = make([]uint32, 128)
	c.devices[1] = plain("outside", 1)
	d := dispatching(c)
	c.load(d, p)
	c.run(d, p, 3)
	if len(c.cuts) != 0 {
		t.Errorf("flows are cut by %v for one core", c.cuts)
	}
	if k := c.kinds("inside"); k[flowspb.FlowRule_DROP] == 0 || k[flowspb.FlowRule_QUEUE] != 0 {
		t.Errorf("rules: %v, want drops and no queues", k)
	}
	says(t, d, "inside", v1alpha1.DispatcherFlow, "one core takes all packets; net_able drops and marks packets by class")
	says(t, d, "outside", v1alpha1.DispatcherSoftware,
		`one core takes all packets; net_e1000_igb_vf offers neither flow rules ("Function not implemented") nor RSS`)
}

func TestDevicesThatOnlyHashGetFlowsCutByTheirHash(t *testing.T) {
	c, p := newCards(t, 2), agenttest.Office(t, "23")
	for _, device := range c.devices {
		device.Flows = &flowspb.FlowCapabilities{Refused: "Function not implemented"}
	}
	d := dispatching(c)
	c.load(d, p)
	c.run(d, p, 2)
	if len(c.cuts) != 1 || c.cuts[0].GetBy() != controlpb.Partitioning_RSS {
		t.Fatalf("flows are cut by %v, want by RSS", c.cuts)
	}
	says(t, d, "inside", v1alpha1.DispatcherRSS, "hashes flows to their cores (no flow: the device takes no flow rules: Function not implemented)")
	for range 5 {
		c.ports[0].RxPackets += 10_000
		c.ports[0].Strays += 5_000
		c.run(d, p, 1)
	}
	says(t, d, "inside", v1alpha1.DispatcherSoftware, "net_able does not hash as its driver says: of 10000 packets, 5000 came to other cores")
	says(t, d, "outside", v1alpha1.DispatcherRSS)
}

func TestADeviceThatDoesNotTakeTheHashIsServedBySoftware(t *testing.T) {
	c, p := newCards(t, 2), agenttest.Office(t, "23")
	for _, device := range c.devices {
		device.Flows = &flowspb.FlowCapabilities{}
	}
	c.unhash = []string{"", "it hashes with a key of its own"}
	d := dispatching(c)
	c.load(d, p)
	c.run(d, p, 2)
	says(t, d, "inside", v1alpha1.DispatcherRSS)
	says(t, d, "outside", v1alpha1.DispatcherSoftware, "no rss: it hashes with a key of its own")
	c.restart()
	c.unhash = []string{"this one too", "it hashes with a key of its own"}
	c.load(d, p)
	if last := c.cuts[len(c.cuts)-1]; last.GetBy() != controlpb.Partitioning_HOST {
		t.Errorf("no device hashes, and flows are cut by %v", last)
	}
}

func TestWhatDevicesDropIsCountedAsTheEngineWouldHave(t *testing.T) {
	c, p := newCards(t, 2), agenttest.Office(t, "23")
	d := dispatching(c)
	c.load(d, p)
	c.run(d, p, 3)
	n := uint64(c.kinds("inside")[flowspb.FlowRule_DROP])
	all := n + uint64(c.kinds("outside")[flowspb.FlowRule_DROP])
	c.dropped = 1000
	c.run(d, p, 6)
	merged := func() *controlpb.Stats {
		s := &controlpb.Stats{Hash: c.hash, Ports: []*controlpb.PortStats{{Interface: "inside", RxPackets: 5}}}
		d.drops.MergeInto(s)
		return s
	}
	sum := func(s *controlpb.Stats) (packets uint64) {
		for _, drop := range s.GetDrops() {
			packets += drop.GetPackets()
		}
		return packets
	}
	s := merged()
	if got := s.GetPorts()[0].GetRxPackets(); got != 5+1000*n {
		t.Errorf("inside received %d packets, want 5 and 1000 of each of %d rules", got, n)
	}
	var classes uint64
	for _, class := range s.GetClasses() {
		classes += class.GetPackets()
	}
	reasons := []string{}
	for _, drop := range s.GetDrops() {
		reasons = append(reasons, drop.GetReason())
	}
	if !slices.Equal(reasons, []string{"directed-broadcast", "fw/drop", "nat-no-binding", "nat-unsupported"}) || sum(s) != 1000*all || classes != 1000*all {
		t.Errorf("drops %v and %d packets of classes; want %d of the interfaces, the firewall and the NAPT", s.GetDrops(), classes, 1000*all)
	}
	if got := d.State().Ports[0].Dropped; got.Packets != 1000*n || got.Bytes != 100_000*n {
		t.Errorf("dropped by the device: %v", got)
	}

	c.dropped = 1300 // it was reset; the engine counts on
	c.state["inside"].Resets++
	c.run(d, p, 6)
	if got := d.State().Ports[0].Dropped.Packets; got != 1300*n {
		t.Errorf("after a reset: %d packets dropped, want %d", got, 1300*n)
	}
	c.load(d, agenttest.Office(t, "25"))
	c.dropped = 0
	if s := merged(); len(s.GetClasses()) != 0 || sum(s) != 1300*all {
		t.Errorf("after another program: classes %v, drops %v; want none, and the sums of before", s.GetClasses(), s.GetDrops())
	}
}
