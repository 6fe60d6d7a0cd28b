package inspect

import (
	"maps"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	inspect "github.com/sinter-nfv/sinter/dataplane/module/inspect/oracle"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestInspectionsDoWhatTheUnmergedChainDoes runs random chains, each with an inspection at least, over payloads that have what is looked for,
// or nearly.
//
//	SINTER_SEED=17 go test ./test/differential/suites/inspect -run 'TestInspections.*/^17$' -v
func TestInspectionsDoWhatTheUnmergedChainDoes(t *testing.T) {
	rig.NeedHarness(t)
	compared, matched, looked := 0, uint64(0), uint64(0)
	for seed := range rig.Seeds(t, "SINTER_INSPECT", rig.Scale(6, 3)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rapid.Custom(func(rt *rapid.T) *rig.Rig {
				r, err := rig.New(draw.Chain(rt, draw.Shape{Name: "inspections", Draw: (*draw.Drawer).Inspections}))
				if err != nil {
					rt.Fatal(err)
				}
				return r
			}).Example(int(seed))
			if err := r.Drive(t.Context(), seed, rig.Scale(45_000, 8_000), true); err != nil {
				t.Fatalf("%v\n%s", err, rig.Dump(r.Graph))
			}
			compared += r.Stats.Packets
			for _, i := range inspect.InspectionsOf(r.Oracle.Chain) {
				looked += i.Packets
				for n := range maps.Values(i.Rules) {
					matched += n
				}
			}
		})
	}
	t.Logf("%d packets; %d were looked at, rules matched %d times", compared, looked, matched)
	if !t.Failed() && matched == 0 {
		t.Errorf("of %d packets that were looked at rules matched none: the chains want some of these", looked)
	}
}

// TestPacketsMeetStateByAMarkThatTheirPayloadGivesThem has meters behind an inspection, which measure marked packets alone: by source and by
// destination, so that all state is one worker's. Where a packet comes in, nobody knows its mark.
func TestPacketsMeetStateByAMarkThatTheirPayloadGivesThem(t *testing.T) {
	rig.NeedHarness(t)
	r := rig.Compile(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 198.51.100.1/24, gateway: 198.51.100.2}
  functions:
  - {name: ids, inspect: {patterns: [vpn], action: Mark, mark: 8}}
  - {name: senders, rateLimiter: {limits: [{dscp: 8, rate: 1pps, perSubscriber: {address: Source}}]}}
  - {name: receivers, rateLimiter: {limits: [{dscp: 8, rate: 1pps, perSubscriber: {address: Destination}}]}}
  path: [inside, ids, senders, receivers, outside]
`)
	r.Workers = 3
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Engine.Kill)
	tr := draw.NewTraffic(1, r.Graph, r.Result.Program)
	for i := range 40 {
		s := rig.Step{Now: time.Second + time.Duration(i)*10*time.Millisecond}
		for range 50 {
			f := packets.Fields{
				VLAN: -1, TTL: 64, Src: 0x0a000002 + tr.Uint32N(64), Dst: 0xcb007101 + tr.Uint32N(64), Proto: packets.ProtoUDP,
				Sport: uint16(1024 + tr.IntN(64)), Dport: 4500,
			}
			s.Packets = append(s.Packets, draw.Sent{Iface: 0, Frame: tr.Build(0, f)})
		}
		if _, err := r.Run(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Finish(t.Context(), 2*time.Second); err != nil {
		t.Fatal(err)
	}
	if r.Stats.Drops["senders/exceeded"]+r.Stats.Drops["receivers/exceeded"] == 0 {
		t.Error("no packet was above a limit: the test wants more marked ones")
	}
}
