package agent

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// count is packets and bytes.
type count struct{ packets, bytes uint64 }

func (c *count) add(d count) {
	c.packets += d.packets
	c.bytes += d.bytes
}

// since is what a counter grew by; one that began anew grew by all that it has.
func (c count) since(before count) count {
	if c.packets < before.packets || c.bytes < before.bytes {
		return c
	}
	return count{c.packets - before.packets, c.bytes - before.bytes}
}

// classID is a class of a segment.
type classID struct{ segment, class uint32 }

// deviceDrops is what devices dropped of one run of the engine, in place of which the engine would have counted it: by
// class of the program in force; by interface, by reason and by the chain's counters for good.
type deviceDrops struct {
	mu       sync.Mutex
	program  *delivery.Program
	classes  map[classID]count
	ports    map[string]count
	reasons  map[string]count
	counters map[string]count
}

func newDeviceDrops() *deviceDrops {
	d := &deviceDrops{}
	d.restart()
	return d
}

// restart begins anew, for another run of the engine.
func (d *deviceDrops) restart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.program, d.classes = nil, nil
	d.ports, d.reasons, d.counters = map[string]count{}, map[string]count{}, map[string]count{}
}

// begin counts classes anew, for another program.
func (d *deviceDrops) begin(p *delivery.Program) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.program, d.classes = p, map[classID]count{}
}

// add counts packets of a class that the device of an interface dropped.
func (d *deviceDrops) add(iface int, class uint32, n count) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.program
	segment := p.GetInterfaces()[iface].GetSegment()
	c := d.classes[classID{segment, class}]
	c.add(n)
	d.classes[classID{segment, class}] = c
	addTo(d.ports, p.GetInterfaces()[iface].GetName(), n)
	for _, leg := range p.GetSegments()[segment].GetClasses()[class].GetLegs() {
		addTo(d.reasons, program.Reason(p.Program, leg.GetDrop()), n)
		for _, counter := range leg.GetCounters() {
			addTo(d.counters, p.GetCounters()[counter], n)
		}
	}
}

func addTo(m map[string]count, name string, n count) {
	c := m[name]
	c.add(n)
	m[name] = c
}

// of is what the device of an interface dropped.
func (d *deviceDrops) of(iface string) count {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ports[iface]
}

// mergeInto adds what devices dropped to what the engine counted, as if the packets had come to it.
func (d *deviceDrops) mergeInto(s *programpb.Stats) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range s.GetPorts() {
		n := d.ports[p.GetInterface()]
		p.RxPackets += n.packets
		p.RxBytes += n.bytes
	}
	d.mergeDrops(s)
	if d.program == nil || d.program.Hash != (&Sample{Stats: s}).Hash() {
		return
	}
	for i, name := range d.program.GetCounters() {
		if n := d.counters[name]; i < len(s.GetCounters()) {
			s.Counters[i].Packets += n.packets
			s.Counters[i].Bytes += n.bytes
		}
	}
	d.mergeClasses(s)
}

func (d *deviceDrops) mergeDrops(s *programpb.Stats) {
	for _, reason := range slices.Sorted(maps.Keys(d.reasons)) {
		n := d.reasons[reason]
		i := slices.IndexFunc(s.GetDrops(), func(r *programpb.DropStats) bool { return r.GetReason() == reason })
		if i < 0 {
			s.Drops = append(s.Drops, &programpb.DropStats{Reason: reason})
			i = len(s.Drops) - 1
		}
		s.Drops[i].Packets += n.packets
		s.Drops[i].Bytes += n.bytes
	}
}

func (d *deviceDrops) mergeClasses(s *programpb.Stats) {
	at := make(map[classID]*programpb.ClassStats, len(s.GetClasses()))
	for _, c := range s.GetClasses() {
		at[classID{c.GetSegment(), c.GetClass()}] = c
	}
	for id, n := range d.classes {
		c := at[id]
		if c == nil {
			c = &programpb.ClassStats{Segment: id.segment, Class: id.class}
			s.Classes = append(s.Classes, c)
		}
		c.Packets += n.packets
		c.Bytes += n.bytes
	}
	slices.SortFunc(s.Classes, func(a, b *programpb.ClassStats) int {
		return cmp.Or(cmp.Compare(a.GetSegment(), b.GetSegment()), cmp.Compare(a.GetClass(), b.GetClass()))
	})
}
