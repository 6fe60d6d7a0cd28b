package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/test/packets"
)

// difference is one thing that Sinter does differently from Linux, and why. This list is the table of docs/conformance.md.
type difference struct {
	name, linux, sinter, reason string
	explains                    func(e *evidence, m *mismatch) bool
}

// differences are looked through in order; the first that explains a mismatch is counted.
var differences = []*difference{
	{
		name:   "identification of generated packets",
		linux:  "numbers them",
		sinter: "ICMP errors have 0, echo replies that of the request",
		reason: "RFC 6864 section 4.1: it is for fragments alone. A reply is a request turned round. Against section 4.3 for errors, which may be fragmented; they have at most 576 bytes, which nobody does",
		explains: func(_ *evidence, m *mismatch) bool {
			return m.field == "identification" && (m.role == icmpError || m.role == echoReply || m.role == reset)
		},
	},
	{
		name:   "TOS of ICMP errors",
		linux:  "precedence 6 and the other bits of the packet's TOS",
		sinter: "DSCP CS6, ECN 0",
		reason: "RFC 1812 section 4.3.2.5 asks for precedence 6 or 7; its other TOS bits are DSCP and ECN today (RFC 2474 section 3, RFC 3168 section 5), which an error does not inherit",
		explains: func(e *evidence, m *mismatch) bool {
			return m.role == icmpError && m.field == "TOS" && m.values[sinter] == "0xc0" && m.values[linux] == fmt.Sprintf("%#02x", e.ip.TOS&0x1e|0xc0)
		},
	},
	{
		name:   "errors about ICMP that is neither query nor error",
		linux:  "takes all types but 0, 8 and 13 to 18 for errors, and sends no error about them",
		sinter: "sends one, but for types 3, 4, 5, 11 and 12",
		reason: "RFC 1812 section 4.3.2.7 forbids errors about ICMP errors only; section 4.3.1 lists these",
		explains: func(e *evidence, m *mismatch) bool {
			if m.only != sinter || m.role != icmpError || e.ip.Proto != packets.ProtoICMP {
				return false
			}
			t := e.ip.Payload[0]
			return t != 0 && t != 8 && (t < 13 || t > 18)
		},
	},
	{
		name:   "limit of unreachable errors",
		linux:  "after five, sends a host one a second (`net.ipv4.route.error_cost`, which namespaces do not have)",
		sinter: "sends all",
		reason: "RFC 1812 section 4.3.2.8 leaves the limit open",
		explains: func(e *evidence, m *mismatch) bool {
			if m.only != sinter || m.role != icmpError {
				return false
			}
			v, _ := packets.Parse(m.frame[sinter])
			return isUnreachable(v.IP) && e.refused[v.IP.Dst] > 5
		},
	},
	{
		name:   "too big, and may be fragmented",
		linux:  "fragments, also echo replies to pings with DF",
		sinter: "drops (`too-big`)",
		reason: "against RFC 1812 section 5.2.6: Sinter does not fragment. Hosts that follow RFC 1191 or RFC 8899 never need it",
		explains: func(e *evidence, m *mismatch) bool {
			return m.only == linux && (!e.ip.DF || e.ownAddress(e.ip.Dst)) && len(e.outs[sinter]) == 0 &&
				20+len(e.ip.Options)+len(e.ip.Payload) > e.interfaces[m.out].mtu
		},
	},
	{
		name:   "what an error that says \"too big\" quotes",
		linux:  "the packet with the TTL that it came with",
		sinter: "the packet with the TTL that it would have left with",
		reason: "RFC 1812 section 4.3.2.3 allows both",
		explains: func(_ *evidence, m *mismatch) bool {
			t, c := errorCode(m.frame[sinter])
			return m.only == sides && m.role == icmpError && t == 3 && c == 4 && (m.field == "quoted TTL" || m.field == "quoted header checksum")
		},
	},
	{
		name:   "padding",
		linux:  "takes Ethernet padding off",
		sinter: "sends it on",
		reason: "RFC 894 and RFC 1042: padding is no part of the IP packet; receivers ignore it",
		explains: func(e *evidence, m *mismatch) bool {
			return m.role == forwarded && m.field == "padding" && m.values[linux] == "" &&
				m.values[sinter] == fmt.Sprintf("%x", e.raw[20+len(e.ip.Options)+len(e.ip.Payload):])
		},
	},
	{
		name:     "options that break RFC 791",
		linux:    "drops the packet, and sends parameter problem",
		sinter:   "does not look at options",
		reason:   "RFC 7126 section 4: operators filter or ignore options; RFC 1812 section 4.2.2.1 asks routers to process some",
		explains: func(e *evidence, _ *mismatch) bool { return e.optionFault() },
	},
	{
		name:   "options on the way",
		linux:  "fills in record route and timestamp, and clears what follows the end of the list",
		sinter: "sends options on unchanged",
		reason: "RFC 7126 sections 4.5 and 4.7: both tell strangers about the network. Against RFC 1812 section 4.2.2.1",
		explains: func(e *evidence, m *mismatch) bool {
			return m.only == sides && (e.option(7, 68) || e.behindEnd()) && (m.role == forwarded && (m.field == "options" || m.field == "header checksum") ||
				m.role == icmpError && (m.field == "quoted options" || m.field == "quoted header checksum"))
		},
	},
	{
		name:   "options of errors and resets",
		linux:  "puts the packet's options into the error or reset",
		sinter: "sends them without options",
		reason: "RFC 1812 section 4.3.2.6 wants source routes back alone, and these are dropped",
		explains: func(e *evidence, m *mismatch) bool {
			return m.only == sides && (m.role == icmpError || m.role == reset) && len(e.ip.Options) > 0 && (m.field == "options" || m.field == "total length" || m.field == "quote length")
		},
	},
	{
		name:   "options of echo replies",
		linux:  "fills in record route and timestamp, and leaves out options that it does not know",
		sinter: "sends those of the request back",
		reason: "RFC 792: to form a reply, the addresses are reversed and the type changed. Against RFC 1122 section 3.2.2.6 for record route and timestamp",
		explains: func(e *evidence, m *mismatch) bool {
			return m.only == sides && m.role == echoReply && len(e.ip.Options) > 0 && (m.field == "options" || m.field == "total length")
		},
	},
	{
		name:   "DF of echo replies",
		linux:  "clears it",
		sinter: "keeps that of the request",
		reason: "RFC 792: to form a reply, the addresses are reversed and the type changed",
		explains: func(e *evidence, m *mismatch) bool {
			return m.role == echoReply && m.field == "flags" && e.ip.DF && m.values[sinter] == "010" && m.values[linux] == "000"
		},
	},
	{
		name:   "source of errors",
		linux:  "\"too big\" comes from the last of three hosts",
		sinter: "\"too big\" comes from the chain, which is one host",
		reason: "RFC 1191 section 4: the sender needs the size, whoever tells it",
		explains: func(e *evidence, m *mismatch) bool {
			if m.only != sides || m.role != icmpError || m.field != "source" {
				return false
			}
			t, c := errorCode(m.frame[sinter])
			return e.through && t == 3 && c == 4
		},
	},
	{
		name:   "reserved addresses",
		linux:  "forwards to and from 0.0.0.0/8 and 240.0.0.0/4, but for 0.0.0.0 and 255.255.255.255",
		sinter: "drops (`martian`)",
		reason: "RFC 1812 section 5.3.7, RFC 1122 section 3.2.1.3 and RFC 1112 section 4: no host has such an address",
		explains: func(e *evidence, m *mismatch) bool {
			return m.only == linux && len(e.outs[sinter]) == 0 && (reserved(e.ip.Src) || reserved(e.ip.Dst))
		},
	},
	{
		name:   "ARP from a host that has an address of Sinter",
		linux:  "does not answer",
		sinter: "answers",
		reason: "RFC 5227 section 2.4: the owner may defend its address; RFC 826 asks the sender for no more than its question",
		explains: func(e *evidence, m *mismatch) bool {
			return m.only == sinter && m.role == arpReply && e.ownAddress(binary.BigEndian.Uint32(m.frame[sinter][38:]))
		},
	},
	{
		name:   "packets out of TCP's order",
		linux:  "drops what does not follow from the state that it keeps: an ACK before the SYN was answered, a SYN amid a connection from the side that did not begin, what follows a refusal or reset",
		sinter: "a NAPT translates every packet of a flow, and a stateful firewall lets it pass; both keep state for timeouts alone, and a refused flow until it times out",
		reason: "RFC 5382 section 4.2 (REQ-2) wants every valid sequence to pass, and forbids no other; what a host takes is up to the host (RFC 9293 section 3.10)",
		explains: func(e *evidence, m *mismatch) bool {
			passed := m.only == sinter && (m.role == forwarded || m.role == icmpError && e.ip.TTL < 2)
			return passed && e.outOfOrder() || e.rejection(m) && e.p.talk != nil && e.outOfOrder()
		},
	},
	{
		name:   "TCP segments with old numbers",
		linux:  "lets pass what is below the windows, SYN with ACK amid a connection, and resets of one that is closing",
		sinter: "with `strict`, drops what its receiver would not take, whether above or below (`invalid`)",
		reason: "RFC 9293 section 3.10.7.4 and RFC 5961 section 5: a receiver does no more than acknowledge such a segment, and half of all guesses at a connection's numbers lie below",
		explains: func(e *evidence, m *mismatch) bool {
			return m.only == linux && e.strict() && (m.role == forwarded || m.role == reset) && e.outOfOrder()
		},
	},
	{
		name: "protocols without ports at a stateful firewall",
		linux: "reads some: tells GRE by its key, and takes for invalid SCTP that belongs to no association (RFC 9260), DCCP that opens no connection, UDP-Lite with a wrong coverage, " +
			"and ICMPv6 in IPv4",
		sinter: "tells flows of all protocols but TCP, UDP and ICMP by their addresses",
		reason: "RFC 4787 section 1 and RFC 5382 speak of UDP and TCP alone: other protocols are told apart by their addresses",
		explains: func(e *evidence, m *mismatch) bool {
			p := e.subject().Proto
			return e.stateful() && (slices.Contains([]uint8{33, 58, 132, 136}, p) && m.only == sinter || p == 47 && m.only != sides)
		},
	},
	{
		name:   "TTL of packets that a NAPT turns back",
		linux:  "takes off one",
		sinter: "takes off one before the NAPT and one behind it: the packet passes the router twice (hairpinning)",
		reason: "RFC 1812 section 5.3.1: each router on the way takes off one, and the NAPT lies behind it",
		explains: func(e *evidence, m *mismatch) bool {
			return e.hairpinned() && m.role == forwarded && m.out == e.nat.inside && (m.field == "TTL" || m.field == "header checksum")
		},
	},
	{
		name:   "what comes to the address that a NAPT shares with its interface",
		linux:  "answers what belongs to no session as a host without services does",
		sinter: "answers pings that are no fragments, and drops the rest (`nat-no-binding`)",
		reason: "RFC 5382 section 4.2 (REQ-4) asks for a silent drop of SYNs, which may open a connection from both sides",
		explains: func(e *evidence, m *mismatch) bool {
			shared := e.nat != nil && e.nat.pooled(e.ip.Dst) && e.ownAddress(e.ip.Dst)
			return shared && (m.only == linux && (m.role == reset || m.role == icmpError) || m.role == echoReply && len(e.p.before) > 0)
		},
	},
	{
		name:   "errors from inside to others than the sender of what they quote",
		linux:  "drops them",
		sinter: "a NAPT translates them, and what they quote",
		reason: "RFC 5508 section 4.2 (REQ-4) has a NAT look at the quoted packet alone; a host inside may send any packet anywhere",
		explains: func(e *evidence, m *mismatch) bool {
			return m.only == sinter && e.nat != nil && e.p.in == e.nat.inside && isICMPError(e.ip) && e.ip.Dst != e.subject().Src
		},
	},
	{
		name:   "ICMP requests that nobody sends any more",
		linux:  "follows information and address mask requests (types 15 and 17)",
		sinter: "a stateful firewall takes them for invalid",
		reason: "RFC 6918 section 2: both are deprecated",
		explains: func(e *evidence, m *mismatch) bool {
			return m.only == linux && e.stateful() && e.ip.Proto == packets.ProtoICMP && len(e.ip.Payload) > 0 && e.ip.Payload[0] >= 15 && e.ip.Payload[0] <= 18
		},
	},
	{
		name:   "errors about packets of which nobody reads a flow",
		linux:  "lets them pass",
		sinter: "a stateful firewall takes errors about AH, DCCP and UDP-Lite, and about packets with fewer than 8 bytes behind their IP header, for invalid; a NAPT drops them (`nat-unsupported`)",
		reason: "RFC 792: an error quotes 8 bytes, which such a packet does not have. Against RFC 1191 section 3 for AH, whose sender does not learn the path's MTU",
		explains: func(e *evidence, m *mismatch) bool {
			if m.only != linux || !e.stateful() && e.nat == nil {
				return false
			}
			return isICMPError(e.ip) && unread(e.ip.Payload[8:]) || m.role == icmpError && unread(e.raw)
		},
	},
	{
		name:   "flows whose first packet did not leave",
		linux:  "knows a flow when its first packet has left",
		sinter: "knows it also when that was answered with an error. Either does not know flows whose first packet it dropped for another reason of this table",
		reason: "RFC 792: the error is about a packet of this flow, and passes the stateful firewall as such; what is sent again belongs to it as well",
		explains: func(e *evidence, m *mismatch) bool {
			connection := e.p.talk != nil && e.p.talk.proto == packets.ProtoTCP // all of which has a long way to go
			return m.only != sides && e.stateful() && !connection && e.only[m.only][flowOf(e.subject())]
		},
	},
	{
		name:   "packets that a host sends itself",
		linux:  "judges them twice, as they pass the firewall out and in",
		sinter: "takes the second passage of the same addresses for a reply",
		reason: "RFC 1122 section 3.2.1.3: what a host sends itself stays in this host",
		explains: func(e *evidence, _ *mismatch) bool {
			return e.filters() && e.ip.Src == e.ip.Dst
		},
	},
	{
		name:   "a quoted TCP header that is cut off",
		linux:  "does not translate its checksum unless all 20 bytes are quoted",
		sinter: "translates it where it is quoted",
		reason: "RFC 3022 section 4.3: the checksum of the embedded packet is moved as well",
		explains: func(e *evidence, m *mismatch) bool {
			b := e.ip.Payload
			return e.nat != nil && m.role == forwarded && m.field == "payload" && isICMPError(e.ip) && len(b) >= 8+20+18 && len(b) < 8+20+20 && b[8+9] == packets.ProtoTCP
		},
	},
	{
		name:   "fragments at a NAPT or a stateful firewall",
		linux:  "waits for all fragments of a packet, and translates or judges the whole",
		sinter: "drops them where they would be translated (`nat-fragment`) or are followed (`invalid`); what is dropped before is answered",
		reason: "against RFC 4787 section 11 (REQ-14). Fragments that nobody completes cost Linux memory, and Sinter none",
		explains: func(e *evidence, m *mismatch) bool {
			return (e.nat != nil || e.stateful()) && e.fragment() && (m.only != sides || e.rejection(m))
		},
	},
	{
		name:   "IGMP to an own address",
		linux:  "takes it",
		sinter: "answers with protocol unreachable",
		reason: "RFC 1122 section 3.2.2.1: the protocol is not supported. Sinter takes part in no multicast",
		explains: func(e *evidence, m *mismatch) bool {
			t, c := errorCode(m.frame[sinter])
			return m.only == sinter && t == 3 && c == 2 && e.ip.Proto == 2 && e.ownAddress(e.ip.Dst)
		},
	},
	{
		name:   "own addresses beyond other routers",
		linux:  "has them in the last of three hosts, which packets and answers cross one by one",
		sinter: "answers at once for all interfaces of the chain",
		reason: "RFC 1122 section 3.3.4.2, the weak model: a chain is one host with all its interfaces",
		explains: func(e *evidence, m *mismatch) bool {
			return e.through && e.ownAddress(e.ip.Dst) && number(e.interfaces[e.p.in].prefix().Addr()) != e.ip.Dst
		},
	},
	{
		name:   "sources that belong elsewhere",
		linux:  "forwards them (`rp_filter` is 0 by default)",
		sinter: "drops sources that lie in another interface's prefix (`reverse-path`), unless `reversePath` is off",
		reason: "RFC 3704 section 2.2 and RFC 1812 section 5.3.8: source address validation",
		explains: func(e *evidence, m *mismatch) bool {
			home := e.home(e.ip.Src)
			return m.only == linux && len(e.outs[sinter]) == 0 && home >= 0 && home != e.p.in
		},
	},
	{
		name:   "broadcast sources",
		linux:  "forwards packets from the broadcast address of a connected prefix",
		sinter: "drops them (`broadcast-source`)",
		reason: "RFC 1812 section 4.2.2.11: an address of all hosts must not be a source",
		explains: func(e *evidence, m *mismatch) bool {
			home := e.home(e.ip.Src)
			return m.only == linux && len(e.outs[sinter]) == 0 && home >= 0 && e.interfaces[home].broadcast() == e.ip.Src
		},
	},
	{
		name:   "addresses of the other side of a NAPT as sources",
		linux:  "drops sources that are its own, whichever side they come from",
		sinter: "drops (`own-source`) those of the side that the packet comes from, and translates others",
		reason: "RFC 2663 section 2.1: each side of a NAT is an address realm of its own, and may use the other's addresses",
		explains: func(e *evidence, m *mismatch) bool {
			home := e.home(e.ip.Src)
			return e.nat != nil && m.only == sinter && e.ownAddress(e.ip.Src) && home != e.p.in
		},
	},
	{
		name:   "two priority tags",
		linux:  "takes off one after the other",
		sinter: "drops frames with two tags (`vlan-stacked`)",
		reason: "IEEE 802.1Q section 6.9: a frame is priority-tagged once. RFC 1812 knows no tags",
		explains: func(e *evidence, m *mismatch) bool {
			v, _ := packets.Parse(e.p.frames[linux])
			return m.only == linux && len(e.outs[sinter]) == 0 && len(v.Tags) > 1 && v.Tags[0].TCI&0xfff == 0 && v.Tags[1].TCI&0xfff == 0
		},
	},
	{
		name:   "pings in fragments",
		linux:  "puts them together, and sends one reply, in fragments of its own where it is too big",
		sinter: "sends fragment by fragment back; together they are the same reply",
		reason: "RFC 791 section 3.2: their receiver puts the fragments together; RFC 792 says nothing of how a reply is cut",
		explains: func(e *evidence, m *mismatch) bool {
			return len(e.p.before) > 0 && e.ownAddress(e.ip.Dst) && bytes.Equal(together(e.outs[sinter]), together(e.outs[linux]))
		},
	},
	{
		name:   "rejections of what is refused on entry",
		linux:  "a firewall sees packets before their options and destinations are checked",
		sinter: "drops them (`source-route`, `martian`, `directed-broadcast`)",
		reason: "RFC 7126 sections 4.3 and 4.4, RFC 1812 section 5.3.7, RFC 2644: such packets are dropped in any case",
		explains: func(e *evidence, m *mismatch) bool {
			net, home := e.ip.Dst>>24, e.home(e.ip.Dst)
			refused := net == 0 || net == 127 || net >= 224 || home >= 0 && e.interfaces[home].broadcast() == e.ip.Dst
			return m.only == linux && e.rejection(m) && (refused || e.option(131, 137))
		},
	},
	{
		name: "answers to senders that do not live where the packet came from",
		linux: "the reset of a rejection leaves untranslated, and is dropped; the error leaves from the router's own address. " +
			"A stateful firewall lets answers pass that it knows the question of",
		sinter: "they are routed, and go through a NAPT as the sender's packets would: a reset is translated, an error about what was never delivered is dropped. " +
			"A stateful firewall that they reach by its other side takes them for packets of no flow",
		reason: "RFC 3022 section 2: what leaves an inside is translated or does not leave. Such senders are mostly forged (RFC 2827)",
		explains: func(e *evidence, m *mismatch) bool {
			if m.only == sides || e.lives(e.p.in, e.ip.Src) {
				return false
			}
			if e.nat == nil {
				return e.stateful() && m.only == linux && (e.rejection(m) || e.ownAddress(e.ip.Dst))
			}
			v, _ := packets.Parse(m.frame[m.only])
			translated := m.only == sinter && m.role == forwarded && m.out == e.nat.out && v.IP.Dst == e.ip.Src
			return translated || e.rejection(m)
		},
	},
	{
		name:   "TTL of rejections",
		linux:  "64",
		sinter: "63 behind a router: the firewall is a box of its own, and the router on the way back counts as a hop",
		reason: "RFC 1122 section 3.2.1.7 leaves the TTL open, and any is enough that reaches the other end",
		explains: func(e *evidence, m *mismatch) bool {
			return m.only == sides && e.rejection(m) && m.field == "TTL" && m.values[sinter] == "63" && m.values[linux] == "64"
		},
	},
	{
		name:   "TOS of resets of rejected segments",
		linux:  "0",
		sinter: "the segment's DSCP, ECN 0",
		reason: "as a host's resets: the DSCP tells how the flow is to be treated (RFC 2474), ECN is left out (RFC 3168 section 6.1.1)",
		explains: func(e *evidence, m *mismatch) bool {
			return m.only == sides && m.role == reset && e.rejection(m) && m.field == "TOS" && m.values[linux] == "0x00" &&
				m.values[sinter] == fmt.Sprintf("%#02x", e.ip.TOS&0xfc)
		},
	},
	{
		name: "rejections of fragments, and of packets whose checksum Linux takes for wrong",
		linux: "drops packets with a wrong checksum. It verifies TCP's and UDP's, and for all other protocols and first fragments the sum over all of the payload; each time with the IP header, " +
			"into whose options it may have written. A first fragment of TCP gets a reset, as if it were the segment",
		sinter: "answers all the same; a fragment by ICMP",
		reason: "RFC 1812 section 5.2.2 has a router verify the IP header, and nothing behind it; most protocols have no such checksum. " +
			"RFC 9293 section 3.10.7.1: what a reset acknowledges follows from the segment's length, which a fragment does not tell",
		explains: func(e *evidence, m *mismatch) bool {
			if !e.rejection(m) {
				return false
			}
			return m.only == linux && m.role == reset && e.fragment() ||
				m.only == sinter && (e.wrongSum() || e.fragment() || e.option(7, 68) || e.behindEnd() ||
					e.ip.Proto != packets.ProtoTCP && e.ip.Proto != packets.ProtoUDP && onesSum(e.ip.Payload) != 0xffff)
		},
	},
	{
		name:     "first fragments without their transport header",
		linux:    "treats them as it treats any fragment",
		sinter:   "a chain with other functions than routers drops first fragments that end before TCP's 20 bytes, or UDP's or ICMP's 8 (`truncated`)",
		reason:   "RFC 1858 section 3: no filter on the way can judge such a packet, which its receiver puts together. No host cuts so",
		explains: func(e *evidence, m *mismatch) bool { return m.only == linux && e.tinyFirst() },
	},
	{
		name:   "transport headers that are not whole, or contradict themselves",
		linux:  "nftables reads the ports, flags or type that are there; errors are sent about ICMP messages of one byte",
		sinter: "takes their fields as absent: no rule on them matches, and no error is sent about ICMP whose type is not known",
		reason: "RFC 1858 section 3: what a filter takes for a header must be one; RFC 1812 section 4.3.2.7: the message may be an error",
		explains: func(e *evidence, m *mismatch) bool {
			return m.only != sides && e.badTransport() && (e.filters() || m.only == linux && m.role == icmpError && e.ip.Proto == packets.ProtoICMP)
		},
	},
	{
		name:   "who gets through a NAPT without ports",
		linux:  "tells GRE by its key and SCTP by ports and state, writes SCTP's checksum, and drops what is neither; all other protocols, and all ICMP queries, by address",
		sinter: "tells all protocols by address, and has one host for each protocol, remote host and outside address",
		reason: "RFC 3022 section 2.1: without ports, basic NAT. Which host has an address depends on who came first on either side",
		explains: func(e *evidence, m *mismatch) bool {
			if e.nat == nil || m.role != forwarded || m.only == sides && e.p.in != e.nat.out && e.ip.Proto != 132 {
				return false
			}
			b := e.ip.Payload
			switch e.ip.Proto {
			case packets.ProtoTCP, packets.ProtoUDP:
				return false
			case packets.ProtoICMP: // queries but ping, and errors about protocols without ports
				return len(b) > 0 && b[0] >= 13 && b[0] <= 18 ||
					isICMPError(e.ip) && len(b) >= 28 && b[17] != packets.ProtoTCP && b[17] != packets.ProtoUDP && b[17] != packets.ProtoICMP
			}
			return true
		},
	},
}
