package offload

import (
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/control/flowspb"
	"github.com/sinter-nfv/sinter/dataplane/dispatch"
)

// capabilitiesOf is what an engine found out about a device, for the planner. The protocol's numbers for fields, ways of
// matching and fragments are the planner's.
func capabilitiesOf(d *flowspb.Device) dispatch.Capabilities {
	f, h := d.GetFlows(), d.GetHash()
	caps := dispatch.Capabilities{
		Rules: int(f.GetRules()), Priorities: int(f.GetPriorities()),
		Untagged: f.GetUntagged(), DstMAC: f.GetDstMac(), Fragments: dispatch.Fragments(f.GetFragments()),
		Drop: f.GetDrop(), Count: f.GetCount(), Queue: f.GetQueue(), MarkBits: int(f.GetMarkBits()), Jump: f.GetJump(),
		Queues:  int(d.GetQueues()),
		RSS:     dispatch.RSSCapabilities{Key: h.GetKey(), Buckets: int(h.GetBuckets()), Ports: h.GetPorts()},
		Refused: f.GetRefused(),
	}
	for _, m := range f.GetFields() {
		if field := hs.Field(m.GetField()); field < hs.NumFields {
			caps.Fields[field] = dispatch.How(m.GetMatching())
		}
	}
	return caps
}

// shardsOf is the function from flows to shards by which flows are cut.
func shardsOf(c *controlpb.Partitioning) dispatch.Shards {
	switch c.GetBy() {
	case controlpb.Partitioning_ADDRESS:
		return dispatch.Shards{Dispatcher: dispatch.Flow, AddressShift: int(c.GetBit())}
	case controlpb.Partitioning_RSS:
		return dispatch.Shards{Dispatcher: dispatch.RSS}
	case controlpb.Partitioning_HOST:
	}
	return dispatch.Shards{Dispatcher: dispatch.Software}
}

// partitioningFor is how flows are cut for a function from flows to shards.
func partitioningFor(s *dispatch.Shards) *controlpb.Partitioning {
	switch s.Dispatcher {
	case dispatch.Flow:
		return &controlpb.Partitioning{By: controlpb.Partitioning_ADDRESS, Bit: uint32(s.AddressShift)}
	case dispatch.RSS:
		return &controlpb.Partitioning{By: controlpb.Partitioning_RSS}
	case dispatch.Software:
	}
	return &controlpb.Partitioning{By: controlpb.Partitioning_HOST}
}
