package flows

import (
	"cmp"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// EndReason is why a record of a flow is exported (RFC 5102 section 5.11.3).
type EndReason uint8

// Reasons, with their numbers in IPFIX.
const (
	IdleTimeout   EndReason = 1
	ActiveTimeout EndReason = 2
	EndOfFlow     EndReason = 3 // FIN or RST
	ForcedEnd     EndReason = 4 // the export ends
	NoResources   EndReason = 5 // there was no room to wait for more of its packets
)

// ID is what packets of a flow have in common.
type ID struct {
	Source, Destination         uint32
	SourcePort, DestinationPort uint16 // of ICMP 0 and the type times 256
	Protocol                    uint8
	Interface                   uint32 // by which they came in
}

// Flow is the packets of a flow between two reports.
type Flow struct {
	ID
	TCPFlags       uint8
	Packets, Bytes uint64
	First, Last    time.Time
	End            EndReason
}

// Cache gathers records of flows until they are to be exported.
type Cache struct {
	Active, Idle time.Duration
	Max          int // flows that wait; further ones are exported as they come

	flows map[ID]*Flow
}

// closed is how long a connection that ended may still have packets: those of the other records of the same moment.
const closed = 2 * time.Second

const (
	tcpFIN = 0x01
	tcpRST = 0x04
)

// Add takes records of an engine, and returns those of flows for which there is no room.
func (c *Cache) Add(records *programpb.FlowRecords) (out []*Flow) {
	if c.flows == nil {
		c.flows = map[ID]*Flow{}
	}
	now := time.Unix(0, int64(records.GetUnixNs()))
	for _, r := range records.GetRecords() {
		f := flowOf(r, now)
		known := c.flows[f.ID]
		switch {
		case known != nil:
			known.add(f)
		case len(c.flows) < c.Max:
			c.flows[f.ID] = &f
		default:
			f.End = NoResources
			out = append(out, &f)
		}
	}
	return out
}

func flowOf(r *programpb.FlowRecord, now time.Time) Flow {
	ago := func(ms uint32) time.Time { return now.Add(-time.Duration(ms) * time.Millisecond) }
	return Flow{
		ID: ID{
			r.GetSource(), r.GetDestination(), uint16(r.GetSourcePort()), uint16(r.GetDestinationPort()),
			uint8(r.GetProtocol()), r.GetInterface(),
		},
		TCPFlags: uint8(r.GetTcpFlags()), Packets: uint64(r.GetPackets()), Bytes: uint64(r.GetBytes()),
		First: ago(r.GetFirstMs()), Last: ago(r.GetLastMs()),
	}
}

func (f *Flow) add(more Flow) {
	f.TCPFlags |= more.TCPFlags
	f.Packets += more.Packets
	f.Bytes += more.Bytes
	if more.First.Before(f.First) {
		f.First = more.First
	}
	if more.Last.After(f.Last) {
		f.Last = more.Last
	}
}

// Len is how many flows wait.
func (c *Cache) Len() int { return len(c.flows) }

// Due returns flows that are to be exported now, at most so many. A flow that lives on begins a new
// record with its next packet.
func (c *Cache) Due(now time.Time, most int) []*Flow {
	return c.take(most, func(f *Flow) EndReason {
		idle := now.Sub(f.Last)
		switch {
		case idle >= c.Idle:
			return IdleTimeout
		case f.TCPFlags&(tcpFIN|tcpRST) != 0 && idle >= closed:
			return EndOfFlow
		case now.Sub(f.First) >= c.Active:
			return ActiveTimeout
		}
		return 0
	})
}

// All returns flows whether they are due or not, at most so many: the export ends.
func (c *Cache) All(most int) []*Flow {
	return c.take(most, func(*Flow) EndReason { return ForcedEnd })
}

// take returns flows that end, at most so many, in the order of their ends.
func (c *Cache) take(most int, end func(*Flow) EndReason) (out []*Flow) {
	for id, f := range c.flows {
		if len(out) >= most {
			break
		}
		if f.End = end(f); f.End == 0 {
			continue
		}
		out = append(out, f)
		delete(c.flows, id)
	}
	slices.SortFunc(out, func(a, b *Flow) int { return cmp.Or(a.Last.Compare(b.Last), compareIDs(a.ID, b.ID)) })
	return out
}

func compareIDs(a, b ID) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.SourcePort, b.SourcePort),
		cmp.Compare(a.DestinationPort, b.DestinationPort), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Interface, b.Interface))
}
