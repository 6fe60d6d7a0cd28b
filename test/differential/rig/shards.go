package rig

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/model"
	"github.com/sinter-nfv/sinter/test/packets"
)

// Buckets of a device's table, as many as there are shards at most.
const Buckets = 128

var hashKey = packets.SymmetricKey(40)

// bucket is where a device hashes the packets of a flow, in either direction. Unlike the engine's, this is the hash as it
// was published, bit by bit.
func bucket(src, dst uint32, sport, dport uint16) uint32 {
	in := packets.FlowInput(src, dst, sport, dport)
	return packets.Toeplitz(hashKey, in[:]) % Buckets
}

// bucketOf is the bucket of a frame, if it is one of TCP or UDP that devices hash by its ports.
func bucketOf(frame []byte) (bucketed uint32, ok bool) {
	v, ok := packets.Parse(frame)
	if !ok || v.EtherType != packets.EtherIPv4 || v.IP.Fragment() || v.IP.Proto != packets.ProtoTCP && v.IP.Proto != packets.ProtoUDP {
		return 0, false
	}
	sport, dport, ok := v.IP.Ports()
	return bucket(v.IP.Src, v.IP.Dst, sport, dport), ok
}

// shards is how many a table has: 128, or fewer, of at least 64 ports per address.
func shards(t *programpb.StateTable) uint32 {
	n := uint32(1)
	for n < Buckets && (t.GetPortMax()-t.GetPortMin()+1)/(2*n) >= 64 {
		n *= 2
	}
	return n
}

// shards is how many all tables have.
func (r *Rig) shards() uint32 {
	n := uint32(Buckets)
	for _, t := range r.Result.Program.GetTables() {
		n = min(n, shards(t))
	}
	return n
}

// hashed makes it an engine of several workers behind a device that hashes.
func (r *Rig) hashed() { r.Workers, r.Cut = 3, PartitionByHash }

// NewHashed synthesizes a chain for several workers behind a device that hashes.
func NewHashed(t *testing.T, g *graph.Graph) *Rig {
	t.Helper()
	r, err := New(g)
	if err != nil {
		t.Fatal(err)
	}
	r.hashed()
	return r
}

// astray tells what is wrong if a packet of an engine that cuts flows by hash left in such a way that a device would take its
// return packets to another shard than it came from.
func (r *Rig) astray(p draw.Sent, out []draw.Sent) string {
	came, ok := bucketOf(p.Frame)
	if !ok || r.Cut != PartitionByHash || slices.ContainsFunc(r.Graph.Nodes, rewritesFlows) {
		return ""
	}
	n := r.shards()
	for _, o := range out {
		if left, ok := bucketOf(o.Frame); ok && left%n != came%n {
			return fmt.Sprintf("it came by bucket %d of %d, and its return packets come by bucket %d\n%s", came%n, n, left%n, packets.Describe(o.Frame))
		}
	}
	return ""
}

// rewritesFlows tells whether a function that is no NAPT changes addresses or ports: it takes packets to buckets of no
// shard's choice.
func rewritesFlows(n graph.Node) bool {
	if _, ok := n.Element.(element.StaticNAT); ok {
		return true
	}
	e, ok := n.Element.(element.SetField)
	return ok && (e.Field == hs.Src || e.Field == hs.Dst || e.Field == hs.SPort || e.Field == hs.DPort)
}

// CompareShards checks where the engine's sessions lie: each in the shard that its return packets hash to, and those from inside
// if no function before has changed them; and no two of a shard with one outside address and port.
func (r *Rig) CompareShards(ctx context.Context) (diff []string, err error) {
	type seat struct {
		table, shard, proto uint32
		outside             netip.AddrPort
	}
	all, same := r.shards(), !slices.ContainsFunc(r.Graph.Nodes, rewritesFlows)
	shared := slices.ContainsFunc(r.Result.Program.GetTables(), func(t *programpb.StateTable) bool {
		return t.GetMapping() != programpb.Dependence_ADDRESS_AND_PORT_DEPENDENT
	})
	for i, t := range r.Result.Program.GetTables() {
		if len(t.GetPool()) == 0 {
			continue // it is no NAPT's
		}
		sessions, err := r.Engine.Sessions(ctx, uint32(i), 1<<20)
		if err != nil {
			return nil, r.Engine.Died(err)
		}
		n := shards(t)
		taken, seen := map[seat]bool{}, map[seat]bool{}
		for _, s := range sessions {
			if !model.Ported(uint8(s.GetProto())) {
				continue // its remote tells its shard
			}
			remote, port := s.GetRemoteAddress(), uint16(s.GetRemotePort())
			if shared {
				remote, port = 0, 0 // one end tells the shard, as all flows of a mapping are in one
			}
			forth := bucket(s.GetInsideAddress(), remote, uint16(s.GetInsidePort()), port)
			back := bucket(remote, s.GetOutsideAddress(), port, uint16(s.GetOutsidePort()))
			if shard := s.GetShard(); back%n != shard%n || same && forth%all != shard%all {
				diff = append(diff, fmt.Sprintf("session of shard %d of %d, from inside of bucket %d, from outside of bucket %d: %v", shard, n, forth, back, s))
			}
			at := seat{uint32(i), s.GetShard() % n, s.GetProto(), netip.AddrPortFrom(packets.Addr(s.GetOutsideAddress()), uint16(s.GetOutsidePort()))}
			if taken[at] && t.GetMapping() == programpb.Dependence_ADDRESS_AND_PORT_DEPENDENT {
				diff = append(diff, fmt.Sprintf("two sessions of shard %d have %v: %v", at.shard, at.outside, s))
			}
			taken[at] = true
			at.shard = 0
			if seen[at] {
				r.Stats.Shared++
			}
			seen[at] = true
		}
	}
	return diff, nil
}
