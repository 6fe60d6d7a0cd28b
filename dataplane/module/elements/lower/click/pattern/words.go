package pattern

import "strings"

// token is a word of an expression, and where it is.
type token struct {
	text string
	off  int
}

// words splits an expression as IPFilter does: operators are words of their own.
func words(s string) (out []token) {
	for i := 0; i < len(s); {
		n := 1
		switch c := s[i]; {
		case c == ' ' || c >= '\t' && c <= '\r':
			i++
			continue
		case (c == '&' || c == '|') && i+1 < len(s) && s[i+1] == c, strings.IndexByte("<>!=", c) >= 0 && i+1 < len(s) && s[i+1] == '=':
			n = 2
		case strings.IndexByte("&|<>!=()[],;?", c) >= 0:
		default:
			for i+n < len(s) && inWord(s[i+n]) && inWord(c) {
				n++
			}
		}
		out = append(out, token{s[i : i+n], i})
		i += n
	}
	return out
}

func inWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("-./@_:", c) >= 0
}

// kind is what a primitive is about.
type kind int

const (
	none kind = iota
	host
	network
	proto
	port
	tcpOption
	icmpType
	fragment
	unfragmented
	ect
	ce
	version
	headerLength
	length
	identification
	tos
	dscp
	ttl
	window
	bytesOf // ip[9], tcp[13]
	etherHost
	number // a value whose kind the words before tell
)

// types are the words that tell what a primitive is about.
var types = map[string]kind{
	"ce": ce, "dscp": dscp, "ect": ect, "frag": fragment, "hl": headerLength, "host": host, "id": identification, "len": length, "net": network,
	"opt": tcpOption, "port": port, "proto": proto, "tos": tos, "ttl": ttl, "type": icmpType, "unfrag": unfragmented, "vers": version, "win": window,
}

func (k kind) String() string {
	switch k {
	case network:
		return "ip net"
	case host:
		return "ip host"
	case proto:
		return "ip proto"
	case etherHost:
		return "ether host"
	case port:
		return "port"
	case tcpOption:
		return "tcp opt"
	case icmpType:
		return "icmp type"
	case window:
		return "tcp win"
	case bytesOf:
		return "[POS:LEN]"
	default:
	}
	for name, t := range types {
		if t == k {
			return "ip " + name
		}
	}
	return "value"
}

// Protocols that no number says.
const (
	anyProto  = -1
	tcpOrUDP  = 256
	transport = 257 // any: transp[2]
)

var protocols = map[string]int{
	"icmp": 1, "igmp": 2, "ipip": 4, "tcp": 6, "udp": 17, "dccp": 33, "gre": 47, "esp": 50, "ah": 51, "ospf": 89, "pim": 103, "sctp": 132,
	"udplite": 136, "tcpudp": tcpOrUDP, "transp": transport,
}

// Ports of both TCP and UDP, and of one of them.
var (
	ports = map[string]uint64{
		"echo": 7, "discard": 9, "daytime": 13, "chargen": 19, "ssh": 22, "telnet": 23, "domain": 53, "dns": 53, "sunrpc": 111, "auth": 113,
		"ntp": 123, "netbios-ns": 137, "netbios-dgm": 138, "netbios-ssn": 139, "snmp": 161, "snmp-trap": 162, "irc": 194, "https": 443, "http": 80, "www": 80,
		"pop3": 110, "imap3": 220, "imaps": 993, "pop3s": 995,
	}
	tcpPorts = map[string]uint64{"ftp-data": 20, "ftp": 21, "smtp": 25, "finger": 79, "nntp": 119, "imap": 143, "imap2": 143}
	udpPorts = map[string]uint64{"bootps": 67, "bootpc": 68, "tftp": 69, "rip": 520, "route": 520}
)

// tcpOptions are Click's name for TCP's flags.
var tcpOptions = map[string]uint64{"fin": 1, "syn": 2, "rst": 4, "psh": 8, "ack": 16, "urg": 32}

var icmpTypes = map[string]uint64{
	"echo-reply": 0, "unreachable": 3, "sourcequench": 4, "redirect": 5, "echo": 8, "routeradvert": 9, "routersolicit": 10, "timeexceeded": 11,
	"parameterproblem": 12, "timestamp": 13, "timestamp-reply": 14, "inforeq": 15, "inforeq-reply": 16, "maskreq": 17, "maskreq-reply": 18,
}

// meaning is what a name may stand for.
type meaning struct {
	kind  kind
	value uint64
}

// meanings are all that a name stands for, given what the words before it say: a kind (none: any), and a protocol.
func meanings(name string, k kind, transport int) (out []meaning) {
	add := func(of kind, v uint64, ok bool) {
		if ok && (k == none || k == of) {
			out = append(out, meaning{of, v})
		}
	}
	p, isProto := protocols[name]
	add(proto, uint64(p), isProto)
	tcp, udp := transport != 17, transport != 6
	if transport == anyProto || transport == 6 || transport == 17 || transport == tcpOrUDP {
		if v, ok := ports[name]; ok {
			add(port, v, true)
		} else if v, ok := tcpPorts[name]; ok && tcp {
			add(port, v, true)
		} else if v, ok := udpPorts[name]; ok && udp {
			add(port, v, true)
		}
	}
	if v, ok := tcpOptions[name]; transport == anyProto || transport == 6 || transport == tcpOrUDP {
		add(tcpOption, v, ok)
	}
	if v, ok := icmpTypes[name]; transport == anyProto || transport == 1 {
		add(icmpType, v, ok)
	}
	return out
}

// isName tells whether a word is a name for anything.
func isName(w string) bool { return len(meanings(w, none, anyProto)) > 0 }
