// Package flows is what engines tell of flows: the heaviest, from all workers and engines of a chain together, and records of flows that
// are gathered and sent to a collector.
package flows

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Row is a flow, host or prefix of a list. What it has not is not valid.
type Row struct {
	Source      netip.Prefix `json:"source,omitzero"`
	Destination netip.Prefix `json:"destination,omitzero"`
	Protocol    uint8        `json:"protocol,omitempty"`
	// Ports of flows; of ICMP 0 and the type times 256.
	SourcePort      uint16 `json:"sourcePort,omitempty"`
	DestinationPort uint16 `json:"destinationPort,omitempty"`
	// Bytes of IP packets in the interval: never too few, and at most Error too many.
	Bytes uint64 `json:"bytes"`
	Error uint64 `json:"error"`
	// Packets that were counted for certain.
	Packets uint64 `json:"packets"`
}

// Top is one list.
type Top struct {
	By           string `json:"by"`                     // as a chain writes it: Flow, Source, DestinationPrefix
	PrefixLength uint32 `json:"prefixLength,omitempty"` // of prefixes
	Packets      uint64 `json:"packets"`
	Bytes        uint64 `json:"bytes"` // of all, those of the list and others
	// Unlisted is how many bytes something may have that is not in the list.
	Unlisted uint64 `json:"unlisted"`
	Rows     []Row  `json:"rows"`
}

// Tops are the lists of a chain's monitor.
type Tops struct {
	Monitor string `json:"monitor"`
	// Took is how long was counted, the longest of the engines'; Ended tells whether the interval is over.
	Took  time.Duration `json:"nanoseconds"`
	Ended bool          `json:"ended"`
	Lists []Top         `json:"lists"`
}

// Merge makes one list of those of several engines of a chain, and of all of their workers. What one worker does not list it may have
// seen nevertheless: that much is added to the row, and to its error.
func Merge(engines []*programpb.TopList, limit int) (Tops, error) {
	out := Tops{Ended: true}
	for i, e := range engines {
		if !slices.EqualFunc(e.GetTops(), engines[0].GetTops(), func(a, b *programpb.Top) bool { return proto.Equal(a.GetBy(), b.GetBy()) }) {
			return Tops{}, fmt.Errorf("engines 1 and %d list different things, as they run different programs: ask again when the chain's rollout is over", i+1)
		}
		out.Monitor = e.GetName()
		out.Took = max(out.Took, time.Duration(e.GetEndNs()-e.GetBeginNs()))
		out.Ended = out.Ended && e.GetEnded()
	}
	if len(engines) == 0 {
		return out, nil
	}
	for i, t := range engines[0].GetTops() {
		var workers []*programpb.TopOfWorker
		for _, e := range engines {
			workers = append(workers, e.GetTops()[i].GetWorkers()...)
		}
		out.Lists = append(out.Lists, merge(t.GetBy(), workers, limit))
	}
	return out, nil
}

// key is what a row is about.
type key struct {
	source, destination    uint32
	sport, dport, protocol uint32
}

func merge(by *programpb.ObserveBy, workers []*programpb.TopOfWorker, limit int) Top {
	out := Top{Rows: []Row{}}
	out.By, out.PrefixLength = listedBy(by)
	sums := map[key]*Row{}
	for _, w := range workers {
		out.Packets += w.GetPackets()
		out.Bytes += w.GetBytes()
		out.Unlisted += w.GetLeast()
	}
	for _, w := range workers {
		for _, r := range w.GetRows() {
			k := key{r.GetSource(), r.GetDestination(), r.GetSourcePort(), r.GetDestinationPort(), r.GetProtocol()}
			sum := sums[k]
			if sum == nil { // as if no worker listed it
				row := rowOf(by, k)
				row.Bytes, row.Error = out.Unlisted, out.Unlisted
				sum, sums[k] = &row, &row
			}
			sum.Bytes += r.GetBytes() - w.GetLeast()
			sum.Error += r.GetError() - w.GetLeast()
			sum.Packets += r.GetPackets()
		}
	}
	for _, r := range sums {
		out.Rows = append(out.Rows, *r)
	}
	slices.SortFunc(out.Rows, compare)
	if limit > 0 && len(out.Rows) > limit {
		out.Unlisted = max(out.Unlisted, out.Rows[limit].Bytes)
		out.Rows = out.Rows[:limit]
	}
	return out
}

// compare sorts the heaviest first.
func compare(a, b Row) int {
	return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), a.Source.Addr().Compare(b.Source.Addr()), a.Destination.Addr().Compare(b.Destination.Addr()),
		cmp.Compare(a.SourcePort, b.SourcePort), cmp.Compare(a.DestinationPort, b.DestinationPort), cmp.Compare(a.Protocol, b.Protocol))
}

// listedBy is what a chain writes for a list.
func listedBy(by *programpb.ObserveBy) (name string, prefixLength uint32) {
	side := "Source"
	if by.GetWhat() == programpb.ObserveBy_DESTINATION {
		side = "Destination"
	}
	switch n := by.GetPrefixLen(); n {
	case 0:
		return "Flow", 0
	case 32:
		return side, 0
	default:
		return side + "Prefix", n
	}
}

func rowOf(by *programpb.ObserveBy, k key) Row {
	row := Row{Protocol: uint8(k.protocol), SourcePort: uint16(k.sport), DestinationPort: uint16(k.dport)}
	n := int(by.GetPrefixLen())
	if n == 0 {
		n = 32
	}
	if by.GetWhat() != programpb.ObserveBy_DESTINATION {
		row.Source = netip.PrefixFrom(addressOf(k.source), n)
	}
	if by.GetWhat() != programpb.ObserveBy_SOURCE {
		row.Destination = netip.PrefixFrom(addressOf(k.destination), n)
	}
	return row
}

func addressOf(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}
