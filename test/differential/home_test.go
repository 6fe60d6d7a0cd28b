package differential

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// buckets of a device's table, as many as there are shards at most.
const buckets = 128

var hashKey = packets.SymmetricKey(40)

// bucket is where a device hashes the packets of a flow, in either direction. Unlike the engine's, this is the hash as it
// was published, bit by bit.
func bucket(src, dst uint32, sport, dport uint16) uint32 {
	in := packets.FlowInput(src, dst, sport, dport)
	return packets.Toeplitz(hashKey, in[:]) % buckets
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
	for n < buckets && (t.GetPortMax()-t.GetPortMin()+1)/(2*n) >= 64 {
		n *= 2
	}
	return n
}

// shards is how many all tables have.
func (r *rig) shards() uint32 {
	n := uint32(buckets)
	for _, t := range r.res.Program.GetTables() {
		n = min(n, shards(t))
	}
	return n
}

// hashed makes it an engine of several workers behind a device that hashes.
func (r *rig) hashed() { r.workers, r.cut = 3, partitionByHash }

func hashedRig(t *testing.T, g *graph.Graph) *rig {
	t.Helper()
	r, err := newRig(g)
	if err != nil {
		t.Fatal(err)
	}
	r.hashed()
	return r
}

// astray tells what is wrong if a packet of an engine that cuts flows by hash left in such a way that a device would take its
// return packets to another shard than it came from.
func (r *rig) astray(p sent, out []sent) string {
	came, ok := bucketOf(p.frame)
	if !ok || r.cut != partitionByHash || slices.ContainsFunc(r.g.Nodes, rewritesFlows) {
		return ""
	}
	n := r.shards()
	for _, o := range out {
		if left, ok := bucketOf(o.frame); ok && left%n != came%n {
			return fmt.Sprintf("it came by bucket %d of %d, and its return packets come by bucket %d\n%s", came%n, n, left%n, packets.Describe(o.frame))
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

// compareShards checks where the engine's sessions lie: each in the shard that its return packets hash to, and those from inside
// if no function before has changed them; and no two of a shard with one outside address and port.
func (r *rig) compareShards(ctx context.Context) (diff []string, err error) {
	type seat struct {
		table, shard, proto uint32
		outside             netip.AddrPort
	}
	all, same := r.shards(), !slices.ContainsFunc(r.g.Nodes, rewritesFlows)
	shared := slices.ContainsFunc(r.res.Program.GetTables(), func(t *programpb.StateTable) bool {
		return t.GetMapping() != programpb.Dependence_ADDRESS_AND_PORT_DEPENDENT
	})
	for i, t := range r.res.Program.GetTables() {
		if len(t.GetPool()) == 0 {
			continue // it is no NAPT's
		}
		sessions, err := r.engine.Sessions(ctx, uint32(i), 1<<20)
		if err != nil {
			return nil, r.engine.died(err)
		}
		n := shards(t)
		taken, seen := map[seat]bool{}, map[seat]bool{}
		for _, s := range sessions {
			if !ported(uint8(s.GetProto())) {
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
				r.stats.shared++
			}
			seen[at] = true
		}
	}
	return diff, nil
}

func TestPortsAreSharedByFlowsOfDifferentShardsOnlyAndBringTheirReturnPacketsHome(t *testing.T) {
	needHarness(t)
	for name, c := range map[string]struct {
		engine string     // its cut
		expect func(*rig) // something else of it
		wrong  string
	}{
		"they do":                              {engine: partitionByHash},
		"an oracle that lets none share":       {partitionByHash, func(r *rig) { r.oracle = interp.New(r.g, interp.Options{}) }, ": in use by 10."},
		"an engine that chooses ports by host": {partitionByHost, func(r *rig) { r.cut = partitionByHash; r.reset() }, "its return packets come by bucket"},
	} {
		t.Run(name, func(t *testing.T) {
			r := hashedRig(t, inARow(t.Name(), 1, oneNAPT))
			r.cut = c.engine
			if err := r.start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer r.engine.kill()
			if c.expect != nil {
				c.expect(r)
			}
			_, err := r.run(t.Context(), flowsToManyRemotes(r.g))
			if err == nil {
				err = r.finish(t.Context(), time.Second)
			}
			switch {
			case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
				t.Errorf("want it to be told that %q, got %v", c.wrong, err)
			case c.wrong == "" && err != nil:
				t.Error(err)
			case c.wrong == "" && r.stats.shared == 0:
				t.Error("no two flows share a port: the test shows nothing")
			}
		})
	}
}

// TestFlowsOfAMappingAreOfOneShardWhereverDevicesTakeThem has NAPTs whose flows share ports behind a device that hashes: their shard is not
// that of the packet's bucket.
func TestFlowsOfAMappingAreOfOneShardWhereverDevicesTakeThem(t *testing.T) {
	needHarness(t)
	for _, mapping := range [][]element.Dependence{
		{element.EndpointIndependent},
		{element.AddressDependent},
		{element.EndpointIndependent, element.EndpointIndependent},
		{element.AddressAndPortDependent, element.EndpointIndependent},
		{element.EndpointIndependent, element.AddressAndPortDependent},
	} {
		t.Run(fmt.Sprintf("%v", mapping), func(t *testing.T) {
			r := hashedRig(t, inARow(t.Name(), len(mapping), func(b *builder, i int) (left, right side) {
				n := element.NAPT{PortMin: 1024, PortMax: 65535, Timeouts: timeouts, MaxSessions: 1 << 17, Mapping: mapping[i], Filtering: mapping[i]}
				for a := range 6 {
					n.Pool = append(n.Pool, addr4(100, 64, i, 1+a))
				}
				return b.napt(fmt.Sprintf("nat%d", i), n)
			}))
			if err := r.drive(t.Context(), 1, scale(20_000, 2_000), true); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSessionsThatLieInOtherShardsThanTheirPacketsHashToAreTold(t *testing.T) {
	needHarness(t)
	r := hashedRig(t, inARow(t.Name(), 1, oneNAPT))
	r.cut = partitionByHost
	if err := r.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.engine.kill()
	if _, err := r.run(t.Context(), flowsToManyRemotes(r.g)); err != nil {
		t.Fatal(err)
	}
	if diff, err := r.compareShards(t.Context()); err != nil || len(diff) < 900 {
		t.Errorf("%d of 1000 sessions are told (%v), and nearly all of them are where their packets do not hash to", len(diff), err)
	}
}

// flowsToManyRemotes are openings of 1000 flows, each to a remote of its own.
func flowsToManyRemotes(g *graph.Graph) step {
	s := step{now: time.Second}
	var dst, src packets.MAC
	copy(dst[:], g.Interfaces[0].MAC)
	copy(src[:], g.Interfaces[0].Neighbors[0].MAC)
	for i := range uint32(1000) {
		from, to := 0x0a000000+i%7, 0xcb007100+i%200
		ip := packets.IPv4{Src: from, Dst: to, Proto: packets.ProtoUDP, TTL: 64, Payload: packets.UDP(from, to, uint16(1024+i), uint16(1024+i/200), nil)}
		s.packets = append(s.packets, sent{0, packets.Ethernet(dst, src, nil, packets.EtherIPv4, ip.Bytes(), nil)})
	}
	return s
}
