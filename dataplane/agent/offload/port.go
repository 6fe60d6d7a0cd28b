package offload

import (
	"fmt"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/control/flowspb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/dispatch"
)

// Bounds of the trust in a device.
const (
	maxRefusals = 16               // refused rules after which it gets none
	maxDoubts   = 3                // seconds with packets that contradict it, after which it is not trusted …
	doubtsFade  = time.Minute      // … unless they are further apart
	hashedLeast = 1000             // packets in a second by which a hash is judged
	hashedWrong = 0.2              // part of them that may come to other cores than their shard's
	restOwners  = time.Second      // shards are followed when they have stayed for so long …
	maxRest     = 10 * time.Second // … or were left alone for so long
	lookAtRules = 5 * time.Second  // between readings of a port's rules
)

// port is an interface's device and the rules that it has.
type port struct {
	name, device, driver string
	caps                 dispatch.Capabilities // without what it refused
	version              int                   // of caps
	lowered              []string              // what it refused, in its words

	index    int            // of the interface in the program in force; -1: none
	plan     *dispatch.Plan // of the rules that it is to have
	made     planKey        // what the plan was made for
	complete bool           // it has them
	queues   []uint16       // of each shard, by the rules; nil: none choose queues
	followed time.Time      // when queues were last changed
	weights  []uint64       // of the classes, that the plan was made for
	weighed  time.Time
	planless string // why there is no plan
	failed   string // why it is not in force

	table   ruleTable
	counted map[uint32]Count // the last reading of rules' counters
	read    time.Time        // when
	resets  uint64
	seen    bool // some rule was seen to be executed
	marked  bool // … and some mark
	told    bool // the engine believes its marks

	before  *controlpb.PortStats // the last counters
	doubts  []time.Time
	astray  []time.Time // hashing seconds that were wrong
	stayed  time.Time   // shards' queues of the last counters
	refused uint64
	gone    uint64 // rules withdrawn
}

// planKey is what a plan depends on, beside weights.
type planKey struct {
	program *delivery.Program
	marks   *flowspb.Marks
	steered bool
	version int
	bits    int
}

func newPort(d *flowspb.Device) *port {
	return &port{name: d.GetInterface(), device: d.GetDevice(), driver: d.GetDriver(), caps: capabilitiesOf(d), index: -1, counted: map[uint32]Count{}}
}

// key names the device over the engine's lives.
func (p *port) key() string { return p.device + " " + p.driver }

// distrust has the device get no rules any more.
func (p *port) distrust(why string) {
	p.caps.Distrusted, p.caps.Rules = why, 0
	p.version++
}

// Contradictions are packets that came as the rules say they cannot.
func Contradictions(s *controlpb.PortStats) uint64 {
	return s.GetFlowUndropped() + s.GetFlowMisqueued() + s.GetFlowMismarked() + s.GetMisclassified()
}

// judge compares what packets showed of the device since the last time with what its driver says. It returns why the device is not to be
// trusted; empty if nothing is wrong, or not wrong for long enough.
func (p *port) judge(now time.Time, s *controlpb.PortStats) string {
	before := p.before
	p.before = s
	if before == nil || Contradictions(s) <= Contradictions(before) {
		return ""
	}
	if p.doubts = recent(p.doubts, now); len(p.doubts) < maxDoubts {
		return ""
	}
	return fmt.Sprintf("%s does not do what its driver says: of %d packets that were compared with its rules, %d should have been dropped, "+
		"%d come by another queue, %d have another mark", p.driver,
		s.GetFlowChecked(), s.GetFlowUndropped(), s.GetFlowMisqueued(), s.GetFlowMismarked()+s.GetMisclassified())
}

// judgeHash does so with a device that is to hash packets to their cores, between two readings of the same owners of shards.
func (p *port) judgeHash(now time.Time, before, s *controlpb.PortStats) string {
	received, strays := s.GetRxPackets()-before.GetRxPackets(), s.GetStrays()-before.GetStrays()
	if received < hashedLeast || float64(strays) < hashedWrong*float64(received) {
		return ""
	}
	if p.astray = recent(p.astray, now); len(p.astray) < maxDoubts {
		return ""
	}
	return fmt.Sprintf("%s does not hash as its driver says: of %d packets, %d came to other cores than their shard's", p.driver, received, strays)
}

// recent adds a time to those that are not long ago.
func recent(times []time.Time, now time.Time) []time.Time {
	var out []time.Time
	for _, t := range times {
		if now.Sub(t) < doubtsFade {
			out = append(out, t)
		}
	}
	return append(out, now)
}
