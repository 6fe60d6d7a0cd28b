package dispatch

// Dispatcher is how packets get to the core that owns their shard.
type Dispatcher uint8

// Dispatchers, the weakest first.
const (
	Software Dispatcher = iota // one core takes them and hands them over
	RSS                        // by the hash that the device makes of addresses and ports
	Flow                       // by flow rules
)

func (d Dispatcher) String() string { return [...]string{"software", "rss", "flow"}[d] }

// Shards is the function that gives each flow its shard, the same for both directions and for all ports of a chain. It is
// data: the engine computes what it says, and rules match what it says.
type Shards struct {
	Dispatcher Dispatcher
	Bits       int // there are 1<<Bits shards. RSS: the shard is so many low bits of the hash
	// Flow: the shard is the bits of the inside host's address from AddressShift on (the engine's --shards address:BIT).
	AddressShift int
	// Flow and software: NAPTs choose outside ports with the shard in the bits from PortShift on. The engine knows only 0.
	PortShift int
}

func (s *Shards) mask() uint32 { return 1<<s.Bits - 1 }

// Run is aligned shards that go to one queue: First … First + 1<<Bits - 1.
type Run struct {
	First uint32
	Bits  int
	Queue uint16
}

// Runs are the fewest aligned runs of a map from shards to queues, whose length is a power of two.
func Runs(queues []uint16) []Run {
	var out []Run
	for i, q := range queues {
		out = append(out, Run{First: uint32(i), Queue: q})
		for n := len(out); n > 1; n = len(out) {
			a, b := out[n-2], out[n-1]
			if a.Queue != b.Queue || a.Bits != b.Bits || a.First>>a.Bits&1 != 0 {
				break
			}
			out = append(out[:n-2], Run{First: a.First, Bits: a.Bits + 1, Queue: a.Queue})
		}
	}
	return out
}
