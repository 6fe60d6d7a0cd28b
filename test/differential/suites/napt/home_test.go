package napt

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

func TestPortsAreSharedByFlowsOfDifferentShardsOnlyAndBringTheirReturnPacketsHome(t *testing.T) {
	rig.NeedHarness(t)
	for name, c := range map[string]struct {
		engine string         // its cut
		expect func(*rig.Rig) // something else of it
		wrong  string
	}{
		"they do":                              {engine: rig.PartitionByHash},
		"an oracle that lets none share":       {rig.PartitionByHash, func(r *rig.Rig) { r.Oracle = interp.New(r.Graph, interp.Options{}) }, ": in use by 10."},
		"an engine that chooses ports by host": {rig.PartitionByHost, func(r *rig.Rig) { r.Cut = rig.PartitionByHash; r.Reset() }, "its return packets come by bucket"},
	} {
		t.Run(name, func(t *testing.T) {
			r := rig.NewHashed(t, draw.InARow(t.Name(), 1, draw.OneNAPT))
			r.Cut = c.engine
			if err := r.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer r.Engine.Kill()
			if c.expect != nil {
				c.expect(r)
			}
			_, err := r.Run(t.Context(), flowsToManyRemotes(r.Graph))
			if err == nil {
				err = r.Finish(t.Context(), time.Second)
			}
			switch {
			case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
				t.Errorf("want it to be told that %q, got %v", c.wrong, err)
			case c.wrong == "" && err != nil:
				t.Error(err)
			case c.wrong == "" && r.Stats.Shared == 0:
				t.Error("no two flows share a port: the test shows nothing")
			}
		})
	}
}

// TestFlowsOfAMappingAreOfOneShardWhereverDevicesTakeThem has NAPTs whose flows share ports behind a device that hashes: their shard is not
// that of the packet's bucket.
func TestFlowsOfAMappingAreOfOneShardWhereverDevicesTakeThem(t *testing.T) {
	rig.NeedHarness(t)
	for _, mapping := range [][]element.Dependence{
		{element.EndpointIndependent},
		{element.AddressDependent},
		{element.EndpointIndependent, element.EndpointIndependent},
		{element.AddressAndPortDependent, element.EndpointIndependent},
		{element.EndpointIndependent, element.AddressAndPortDependent},
	} {
		t.Run(fmt.Sprintf("%v", mapping), func(t *testing.T) {
			r := rig.NewHashed(t, draw.InARow(t.Name(), len(mapping), func(b *draw.Builder, i int) (left, right draw.Side) {
				n := element.NAPT{
					PortMin: 1024, PortMax: 65535, Timeouts: draw.Timeouts, MaxSessions: 1 << 17, Mapping: mapping[i], Filtering: mapping[i],
				}
				for a := range 6 {
					n.Pool = append(n.Pool, draw.Addr4(100, 64, i, 1+a))
				}
				return b.NAPT(fmt.Sprintf("nat%d", i), n)
			}))
			if err := r.Drive(t.Context(), 1, rig.Scale(20_000, 2_000), true); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSessionsThatLieInOtherShardsThanTheirPacketsHashToAreTold(t *testing.T) {
	rig.NeedHarness(t)
	r := rig.NewHashed(t, draw.InARow(t.Name(), 1, draw.OneNAPT))
	r.Cut = rig.PartitionByHost
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.Engine.Kill()
	if _, err := r.Run(t.Context(), flowsToManyRemotes(r.Graph)); err != nil {
		t.Fatal(err)
	}
	if diff, err := r.CompareShards(t.Context()); err != nil || len(diff) < 900 {
		t.Errorf("%d of 1000 sessions are told (%v), and nearly all of them are where their packets do not hash to", len(diff), err)
	}
}

// flowsToManyRemotes are openings of 1000 flows, each to a remote of its own.
func flowsToManyRemotes(g *graph.Graph) rig.Step {
	s := rig.Step{Now: time.Second}
	var dst, src packets.MAC
	copy(dst[:], g.Interfaces[0].MAC)
	copy(src[:], g.Interfaces[0].Neighbors[0].MAC)
	for i := range uint32(1000) {
		from, to := 0x0a000000+i%7, 0xcb007100+i%200
		ip := packets.IPv4{Src: from, Dst: to, Proto: packets.ProtoUDP, TTL: 64, Payload: packets.UDP(from, to, uint16(1024+i), uint16(1024+i/200), nil)}
		s.Packets = append(s.Packets, draw.Sent{Iface: 0, Frame: packets.Ethernet(dst, src, nil, packets.EtherIPv4, ip.Bytes(), nil)})
	}
	return s
}
