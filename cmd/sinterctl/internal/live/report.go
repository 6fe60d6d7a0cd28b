// Package live makes reports for people and machines of an engine's counters.
package live

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/describe"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// Report is what an engine counted, and how fast since the report before.
type Report struct {
	Chain      string      `json:"chain,omitempty"`
	Program    string      `json:"program"` // hash
	Seconds    float64     `json:"seconds"` // that the rates are over; 0: no rates
	Interfaces []Interface `json:"interfaces"`
	Classes    []Row       `json:"classes"`
	Counters   []Row       `json:"counters,omitempty"`
	Drops      []Drop      `json:"drops"`
	Tables     []Table     `json:"tables,omitempty"`
	// Wires are the ways through blackboxes that get probes.
	Wires []Wire `json:"wires,omitempty"`
	// Hosts are blackboxes with addresses of their own that are asked by ARP whether they are there.
	Hosts []Host `json:"hosts,omitempty"`
	// Subscribers are the heaviest ones of NAPTs that limit them, and the hosts with most connections of those that connection limiters bound.
	Subscribers []Subscriber `json:"subscribers,omitempty"`
	Workers     []Worker     `json:"workers"`
}

// Rate is a counter and its speed.
type Rate struct {
	Packets          uint64  `json:"packets"`
	Bytes            uint64  `json:"bytes"`
	PacketsPerSecond float64 `json:"packetsPerSecond"`
	BitsPerSecond    float64 `json:"bitsPerSecond"`
}

// Interface is one of the chain's links.
type Interface struct {
	Name     string `json:"name"`
	Received Rate   `json:"received"`
	Sent     Rate   `json:"sent"`
	Missed   uint64 `json:"missed"` // by the device
}

// Row is a class or a counter.
type Row struct {
	Name string `json:"name"`
	// Segment and Class are a class's place in the program.
	Segment uint32 `json:"segment"`
	Class   uint32 `json:"class"`
	Rate
}

// Drop is packets dropped under one reason.
type Drop struct {
	Reason string `json:"reason"`
	Kind   string `json:"kind"` // decision, refusal, loss or consumed
	Rate
}

// Wire is a way through a blackbox: packets leave by one interface, and come back by the other.
type Wire struct {
	Out  string `json:"out"`
	Back string `json:"back"`
	// Probes are of one that gets some, Checked packets that are compared as they left and as they came back.
	Probes  *Probes `json:"probes,omitempty"`
	Checked Checked `json:"checked"`
}

// Probes are sent through a blackbox.
type Probes struct {
	Up       bool   `json:"up"`
	Sent     uint64 `json:"sent"`
	Answered uint64 `json:"answered"`
}

// Host is a blackbox with an address of its own, in the network of an interface.
type Host struct {
	Interface string `json:"interface"`
	Address   string `json:"address"`
	Up        bool   `json:"up"`
	Asked     uint64 `json:"asked"`
	Answered  uint64 `json:"answered"`
}

// Checked are some of the packets that left for a blackbox. Of times there are none if none came back meanwhile.
type Checked struct {
	Sent           uint64          `json:"sent"`
	Returned       uint64          `json:"returned"`
	Lost           uint64          `json:"lost"` // they did not come back within five seconds
	Median         *float64        `json:"medianSeconds,omitempty"`
	P99            *float64        `json:"p99Seconds,omitempty"`
	Contradictions []Contradiction `json:"contradictions,omitempty"`
}

// Contradiction is what a blackbox does although it does not declare it: it changes a header field, or Dropped, Resized, Originated, Reordered packets.
type Contradiction struct {
	What    string `json:"what"`
	Packets uint64 `json:"packets"`
	Lately  bool   `json:"lately"` // within the last minute
}

// Table is a state table.
type Table struct {
	Name      string `json:"name"`
	Sessions  uint64 `json:"sessions"`
	Created   uint64 `json:"created"`
	Expired   uint64 `json:"expired"`
	Exhausted uint64 `json:"exhausted"`
	Evicted   uint64 `json:"evicted"`
	// Colors are what a meter measured packets as; of others there are none.
	Colors *Colors `json:"colors,omitempty"`
	// Rules are those of an inspector that matched; of others there are none.
	Rules []Matched `json:"rules,omitempty"`
}

// Matched are the packets that a rule of an inspector matched.
type Matched struct {
	Rule string `json:"rule"`
	Rate
}

// Colors are packets by the colour that a meter gave them.
type Colors struct {
	Green  Rate `json:"green"`
	Yellow Rate `json:"yellow"`
	Red    Rate `json:"red"`
}

// Subscriber is an inside host or prefix, and what it has of a NAPT, or its connections.
type Subscriber struct {
	Function string `json:"function"`
	Name     string `json:"subscriber"`
	Sessions uint32 `json:"sessions"`
	Ports    *Ports `json:"ports,omitempty"` // none: sessions are connections, which have none
	Refused  uint64 `json:"refused"`         // packets
}

// Ports are the outside ports that a subscriber has of a NAPT.
type Ports struct {
	TCP  uint32 `json:"tcp"`
	UDP  uint32 `json:"udp"`
	ICMP uint32 `json:"icmp"`
}

// Worker is a worker thread.
type Worker struct {
	Lcore           uint32  `json:"lcore"`
	Packets         uint64  `json:"packets"`
	CyclesPerPacket float64 `json:"cyclesPerPacket"` // over the rounds that had packets
	Load            float64 `json:"load"`            // share of cycles in such rounds
}

// Make compares the counters with those of before (nil: none, no rates). The program (nil:
// not known) gives classes and counters their names.
func Make(p *programpb.Program, before, now *controlpb.Stats) Report {
	r := Report{Chain: p.GetChain(), Program: hex.EncodeToString(now.GetHash())}
	if before != nil && now.GetNowNs() > before.GetNowNs() {
		r.Seconds = float64(now.GetNowNs()-before.GetNowNs()) / 1e9
	}
	m := maker{program: p, seconds: r.Seconds}
	r.Interfaces = m.interfaces(before.GetPorts(), now.GetPorts())
	r.Drops = m.drops(before.GetDrops(), now.GetDrops())
	r.Tables = m.tables(before.GetTables(), now.GetTables())
	r.Wires = wires(before.GetWires(), now.GetWires())
	for _, h := range now.GetHosts() {
		r.Hosts = append(r.Hosts, Host{h.GetInterface(), rule.Address(h.GetAddress()).String(), !h.GetDown(), h.GetQuestions(), h.GetAnswers()})
	}
	r.Subscribers = subscribers(now.GetSubscribers())
	r.Workers = m.workers(before.GetWorkers(), now.GetWorkers())
	if !slices.Equal(before.GetHash(), now.GetHash()) {
		m.seconds = 0 // classes and counters of another program: no rates
	}
	r.Classes = m.classes(before.GetClasses(), now.GetClasses())
	r.Counters = m.counters(before.GetCounters(), now.GetCounters())
	return r
}

type maker struct {
	program *programpb.Program
	seconds float64
}

func (m maker) tables(before, now []*programpb.TableStats) (out []Table) {
	for _, t := range now {
		table := Table{t.GetName(), t.GetSessions(), t.GetCreated(), t.GetExpired(), t.GetExhausted(), t.GetEvicted(), nil, nil}
		var old *programpb.TableStats
		if i := slices.IndexFunc(before, func(o *programpb.TableStats) bool { return o.GetName() == t.GetName() }); i >= 0 {
			old = before[i]
		}
		if n := t.GetMeter(); n != nil {
			b := old.GetMeter()
			table.Colors = &Colors{m.of(b.GetGreen(), n.GetGreen()), m.of(b.GetYellow(), n.GetYellow()), m.of(b.GetRed(), n.GetRed())}
		}
		for i, n := range t.GetInspector().GetRules() {
			b := at(old.GetInspector().GetRules(), i)
			if b.GetName() != n.GetName() { // the rule of another program, which had counts of its own
				b = nil
			}
			if n.GetPackets() > 0 {
				table.Rules = append(table.Rules, Matched{n.GetName(), m.rate(b.GetPackets(), 0, n.GetPackets(), 0)})
			}
		}
		out = append(out, table)
	}
	return out
}

func subscribers(list []*programpb.SubscriberStats) (out []Subscriber) {
	for _, n := range list {
		for _, s := range n.GetHeaviest() {
			row := Subscriber{Function: n.GetName(), Name: program.SubscriberName(s), Sessions: s.GetSessions(), Refused: s.GetRefused()}
			if !n.GetConnections() {
				row.Ports = &Ports{s.GetTcpPorts(), s.GetUdpPorts(), s.GetIcmpPorts()}
			}
			out = append(out, row)
		}
	}
	return out
}

type counted interface {
	GetPackets() uint64
	GetBytes() uint64
}

func (m maker) rate(packets0, bytes0, packets, bytes uint64) Rate {
	r := Rate{Packets: packets, Bytes: bytes}
	if m.seconds > 0 && packets >= packets0 && bytes >= bytes0 {
		r.PacketsPerSecond = float64(packets-packets0) / m.seconds
		r.BitsPerSecond = float64(bytes-bytes0) * 8 / m.seconds
	}
	return r
}

func (m maker) of(before, now counted) Rate {
	return m.rate(before.GetPackets(), before.GetBytes(), now.GetPackets(), now.GetBytes())
}

func (m maker) interfaces(before, now []*controlpb.PortStats) []Interface {
	out := make([]Interface, len(now))
	for i, n := range now {
		b := at(before, i)
		out[i] = Interface{
			Name:     n.GetInterface(),
			Received: m.rate(b.GetRxPackets(), b.GetRxBytes(), n.GetRxPackets(), n.GetRxBytes()),
			Sent:     m.rate(b.GetTxPackets(), b.GetTxBytes(), n.GetTxPackets(), n.GetTxBytes()),
			Missed:   n.GetRxMissed(),
		}
	}
	return out
}

func (m maker) classes(before, now []*controlpb.ClassStats) []Row {
	type place struct{ segment, class uint32 }
	old := map[place]*controlpb.ClassStats{}
	for _, c := range before {
		old[place{c.GetSegment(), c.GetClass()}] = c
	}
	out := make([]Row, len(now))
	for i, c := range now {
		out[i] = Row{
			Name:    m.className(c),
			Segment: c.GetSegment(), Class: c.GetClass(),
			Rate: m.of(old[place{c.GetSegment(), c.GetClass()}], c),
		}
	}
	slices.SortStableFunc(out, func(a, b Row) int { return cmp.Compare(b.Packets, a.Packets) })
	return out
}

func (m maker) className(c *controlpb.ClassStats) string {
	segments := m.program.GetSegments()
	if int(c.GetSegment()) >= len(segments) || int(c.GetClass()) >= len(segments[c.GetSegment()].GetClasses()) {
		return fmt.Sprintf("segment %d class %d", c.GetSegment(), c.GetClass())
	}
	s := segments[c.GetSegment()]
	return s.GetName() + ": " + describe.Class(m.program, int(c.GetSegment()), s.GetClasses()[c.GetClass()])
}

func (m maker) counters(before, now []*controlpb.CounterStats) []Row {
	out := make([]Row, len(now))
	for i, c := range now {
		name := fmt.Sprintf("counter %d", i)
		if i < len(m.program.GetCounters()) {
			name = m.program.GetCounters()[i]
		}
		out[i] = Row{Name: name, Rate: m.of(at(before, i), c)}
	}
	return out
}

func kindOf(d *controlpb.DropStats) string {
	return strings.ToLower(strings.TrimPrefix(d.GetKind().String(), "DROP_KIND_"))
}

func (m maker) drops(before, now []*controlpb.DropStats) []Drop {
	type id struct {
		kind   programpb.DropKind
		reason string
	}
	old := map[id]*controlpb.DropStats{}
	for _, d := range before {
		old[id{d.GetKind(), d.GetReason()}] = d
	}
	out := make([]Drop, len(now))
	for i, d := range now {
		out[i] = Drop{d.GetReason(), kindOf(d), m.of(old[id{d.GetKind(), d.GetReason()}], d)}
	}
	slices.SortStableFunc(out, func(a, b Drop) int { return cmp.Compare(b.Packets, a.Packets) })
	return out
}

func (m maker) workers(before, now []*controlpb.WorkerStats) []Worker {
	out := make([]Worker, len(now))
	for i, n := range now {
		b := at(before, i)
		packets := n.GetPackets() - b.GetPackets()
		busy, idle := n.GetBusyCycles()-b.GetBusyCycles(), n.GetIdleCycles()-b.GetIdleCycles()
		out[i] = Worker{Lcore: n.GetLcore(), Packets: n.GetPackets()}
		if packets > 0 {
			out[i].CyclesPerPacket = float64(busy) / float64(packets)
		}
		if busy+idle > 0 {
			out[i].Load = float64(busy) / float64(busy+idle)
		}
	}
	return out
}

// at is the i-th of a list, nil beyond its end.
func at[T any](list []*T, i int) *T {
	if i < len(list) {
		return list[i]
	}
	return nil
}
