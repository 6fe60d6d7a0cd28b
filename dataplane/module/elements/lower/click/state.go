package click

import "net/netip"

// state is what is known of all packets at a place of the configuration.
type state struct {
	// begin is where the data begins, in bytes from the IP header: -14 with an Ethernet header, 0 without.
	begin int
	ether frame
	// paint has a byte for each paint annotation that was set, as "number=value;", ascending.
	paint string
	dst   destination
	// noted is what the last of our lookups noted as next hop: none, an address, or one that is not known here.
	noted destination
	// fix is the Fix IP Source annotation, on ICMP errors.
	fix bool
	// answer says that the chain itself generated them.
	answer bool
}

// frame is whose Ethernet header packets have.
type frame int

const (
	asReceived frame = iota
	stripped
	encapsulated // for the next hop
)

// destination is the destination address annotation.
type destination struct {
	kind annotation
	addr netip.Addr
}

type annotation int

const (
	unset    annotation = iota
	ofPacket            // the destination of the packet
	constant
	byRoute // the gateway of a route that is not known here
	ofSource
	stale // the destination that the packet had before it was rewritten
)

func (a annotation) String() string {
	return [...]string{
		unset: "nothing", ofPacket: "the packet's destination", constant: "an address", byRoute: "the gateway that a route before it chose",
		ofSource: "the packet's source", stale: "the destination that the packet had before it was rewritten",
	}[a]
}

// fresh are packets as a device gives them.
func fresh() state { return state{begin: -14} }

// annoNumber is a paint annotation and its value.
func (s state) paintOf(anno byte) byte {
	for i := 0; i+1 < len(s.paint); i += 2 {
		if s.paint[i] == anno {
			return s.paint[i+1]
		}
	}
	return 0
}

// painted is the state with a paint annotation set. A paint of zero is none.
func (s state) painted(anno, value byte) state {
	var out []byte
	done := value == 0
	for i := 0; i+1 < len(s.paint); i += 2 {
		if s.paint[i] == anno {
			continue
		}
		if !done && s.paint[i] > anno {
			out, done = append(out, anno, value), true
		}
		out = append(out, s.paint[i], s.paint[i+1])
	}
	if !done {
		out = append(out, anno, value)
	}
	s.paint = string(out)
	return s
}
