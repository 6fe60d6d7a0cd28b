package offload

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Count is packets and bytes.
type Count struct{ Packets, Bytes uint64 }

func (c *Count) add(d Count) {
	c.Packets += d.Packets
	c.Bytes += d.Bytes
}

// since is what a counter grew by; one that was reset grew by all that it has.
func (c Count) since(before Count) Count {
	if c.Packets < before.Packets || c.Bytes < before.Bytes {
		return c
	}
	return Count{c.Packets - before.Packets, c.Bytes - before.Bytes}
}

// classID is a class of a segment.
type classID struct{ segment, class uint32 }

// dropID is a drop reason; a chain may name one of its own as the engine names one.
type dropID struct {
	kind   programpb.DropKind
	reason string
}

func (a dropID) compare(b dropID) int {
	return cmp.Or(cmp.Compare(a.reason, b.reason), cmp.Compare(a.kind, b.kind))
}

// dropOf is the reason of a leg that drops. What devices drop in the engine's place, it refuses or a function decides.
func dropOf(p *programpb.Program, d *programpb.Drop) dropID {
	kind := programpb.DropKind_DROP_KIND_DECISION
	if _, builtin := d.GetReason().(*programpb.Drop_Builtin); builtin {
		kind = programpb.DropKind_DROP_KIND_REFUSAL
	}
	return dropID{kind, program.Reason(p, d)}
}

// Drops is what devices dropped of one run of the engine, in place of which the engine would have counted it: by
// class of the program in force; by interface, by reason and by the chain's counters for good.
type Drops struct {
	mu       sync.Mutex
	program  *delivery.Program
	classes  map[classID]Count
	ports    map[string]Count
	reasons  map[dropID]Count
	counters map[string]Count
}

// NewDrops counts for an engine that has dropped nothing yet.
func NewDrops() *Drops {
	d := &Drops{}
	d.restart()
	return d
}

// restart forgets all counts, for another run of the engine.
func (d *Drops) restart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.program, d.classes = nil, nil
	d.ports, d.reasons, d.counters = map[string]Count{}, map[dropID]Count{}, map[string]Count{}
}

// begin counts classes from zero, for another program.
func (d *Drops) begin(p *delivery.Program) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.program, d.classes = p, map[classID]Count{}
}

// add counts packets of a class that the device of an interface dropped.
func (d *Drops) add(iface int, class uint32, n Count) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.program
	segment := p.GetInterfaces()[iface].GetSegment()
	c := d.classes[classID{segment, class}]
	c.add(n)
	d.classes[classID{segment, class}] = c
	addTo(d.ports, p.GetInterfaces()[iface].GetName(), n)
	for _, leg := range p.GetSegments()[segment].GetClasses()[class].GetLegs() {
		addTo(d.reasons, dropOf(p.Program, leg.GetDrop()), n)
		for _, counter := range leg.GetCounters() {
			addTo(d.counters, p.GetCounters()[counter], n)
		}
	}
}

func addTo[K comparable](m map[K]Count, key K, n Count) {
	c := m[key]
	c.add(n)
	m[key] = c
}

// of is what the device of an interface dropped.
func (d *Drops) of(iface string) Count {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ports[iface]
}

// MergeInto adds what devices dropped to what the engine counted, as if the packets had come to it.
func (d *Drops) MergeInto(s *controlpb.Stats) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range s.GetPorts() {
		n := d.ports[p.GetInterface()]
		p.RxPackets += n.Packets
		p.RxBytes += n.Bytes
	}
	d.mergeDrops(s)
	if d.program == nil || d.program.Hash != engine.HashOf(s) {
		return
	}
	for i, name := range d.program.GetCounters() {
		if n := d.counters[name]; i < len(s.GetCounters()) {
			s.Counters[i].Packets += n.Packets
			s.Counters[i].Bytes += n.Bytes
		}
	}
	d.mergeClasses(s)
}

func (d *Drops) mergeDrops(s *controlpb.Stats) {
	for _, id := range slices.SortedFunc(maps.Keys(d.reasons), dropID.compare) {
		n := d.reasons[id]
		i := slices.IndexFunc(s.GetDrops(), func(r *controlpb.DropStats) bool { return id == dropID{r.GetKind(), r.GetReason()} })
		if i < 0 {
			s.Drops = append(s.Drops, &controlpb.DropStats{Reason: id.reason, Kind: id.kind})
			i = len(s.Drops) - 1
		}
		s.Drops[i].Packets += n.Packets
		s.Drops[i].Bytes += n.Bytes
	}
}

func (d *Drops) mergeClasses(s *controlpb.Stats) {
	at := make(map[classID]*controlpb.ClassStats, len(s.GetClasses()))
	for _, c := range s.GetClasses() {
		at[classID{c.GetSegment(), c.GetClass()}] = c
	}
	for id, n := range d.classes {
		c := at[id]
		if c == nil {
			c = &controlpb.ClassStats{Segment: id.segment, Class: id.class}
			s.Classes = append(s.Classes, c)
		}
		c.Packets += n.Packets
		c.Bytes += n.Bytes
	}
	slices.SortFunc(s.Classes, func(a, b *controlpb.ClassStats) int {
		return cmp.Or(cmp.Compare(a.GetSegment(), b.GetSegment()), cmp.Compare(a.GetClass(), b.GetClass()))
	})
}
