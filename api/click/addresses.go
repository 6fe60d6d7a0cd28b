package click

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Addresses are names of addresses: what AddressInfo elements say. "name:ip", "name:ipnet" and "name:eth" ask for one of them.
type Addresses map[string]Named

// Named is what a name stands for; what it does not stand for is zero.
type Named struct {
	IP     netip.Addr
	Prefix netip.Prefix
	Ether  net.HardwareAddr
}

// Address is the IP address of a name.
func (a Addresses) Address(name string) (netip.Addr, bool) {
	name, kind, _ := strings.Cut(name, ":")
	n, ok := a[name]
	return n.IP, ok && n.IP.IsValid() && (kind == "" || kind == "ip")
}

// Prefix is the network of a name.
func (a Addresses) Prefix(name string) (netip.Prefix, bool) {
	name, kind, _ := strings.Cut(name, ":")
	n, ok := a[name]
	return n.Prefix, ok && n.Prefix.IsValid() && (kind == "" || kind == "ipnet")
}

// Ether is the Ethernet address of a name.
func (a Addresses) Ether(name string) (net.HardwareAddr, bool) {
	name, kind, _ := strings.Cut(name, ":")
	n, ok := a[name]
	return n.Ether, ok && n.Ether != nil && (kind == "" || kind == "eth")
}

// ByEther is the IP address that is named together with an Ethernet address.
func (a Addresses) ByEther(e net.HardwareAddr) (out netip.Addr, ok bool) {
	for _, n := range a {
		if n.IP.IsValid() && n.Ether.String() == e.String() && (!ok || n.IP.Less(out)) {
			out, ok = n.IP, true
		}
	}
	return out, ok
}

// ParseEther reads an Ethernet address, of parts with one or two digits.
func ParseEther(s string) (net.HardwareAddr, bool) {
	parts := strings.Split(strings.ReplaceAll(s, "-", ":"), ":")
	for i, p := range parts {
		if len(p) == 1 {
			parts[i] = "0" + p
		}
	}
	m, err := net.ParseMAC(strings.Join(parts, ":"))
	return m, err == nil && len(m) == 6 && len(parts) == 6
}

// Addresses are the names that the configuration's AddressInfo elements give.
func (c *Config) Addresses() (Addresses, []Problem) {
	out := Addresses{}
	var found problems
	for i := range c.Elements {
		e := &c.Elements[i]
		if e.Class != "AddressInfo" {
			continue
		}
		for _, a := range e.Args {
			words := strings.Fields(a.Text)
			if len(words) < 2 {
				found.fail(a.Pos, a.Text, "write a name and its addresses, like AddressInfo(gateway 192.0.2.1/24 02:00:00:00:00:01)")
				continue
			}
			n := out[words[0]]
			for _, w := range words[1:] {
				if message := n.add(w); message != "" {
					found.fail(a.Pos, w, "%s", message)
				}
			}
			out[words[0]] = n
		}
	}
	return out, found
}

// add reads one of a name's addresses; the message says what is wrong with it.
func (n *Named) add(w string) (message string) {
	if e, ok := ParseEther(w); ok {
		n.Ether = e
		return ""
	}
	if p, ok := ParsePrefix(w); ok {
		n.Prefix = p.Masked()
		if !n.IP.IsValid() && p.Addr() != p.Masked().Addr() {
			n.IP = p.Addr()
		}
		return ""
	}
	ip, err := netip.ParseAddr(w)
	switch {
	case err != nil:
		return "neither an IPv4 address, nor a prefix, nor an Ethernet address"
	case !ip.Is4():
		return "IPv6 is not forwarded; leave the address out"
	}
	n.IP = ip
	return ""
}

// ParsePrefix reads "10.0.0.0/8", "10/8" and "10.0.0.0/255.0.0.0". Bytes of the address that are missing are zero.
func ParsePrefix(s string) (netip.Prefix, bool) {
	text, length, ok := strings.Cut(s, "/")
	if !ok {
		return netip.Prefix{}, false
	}
	if n := strings.Count(text, "."); n < 3 {
		text += strings.Repeat(".0", 3-n)
	}
	a, err := netip.ParseAddr(text)
	if err != nil || !a.Is4() {
		return netip.Prefix{}, false
	}
	bits, err := strconv.Atoi(length)
	if err != nil {
		m, err := netip.ParseAddr(length)
		if err != nil || !m.Is4() {
			return netip.Prefix{}, false
		}
		var contiguous bool
		if bits, contiguous = prefixLen(bitsOf(m)); !contiguous {
			return netip.Prefix{}, false
		}
	}
	if bits < 0 || bits > 32 {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(a, bits), true
}

// prefixLen is the number of ones before the zeros of a mask.
func prefixLen(mask uint32) (bits int, contiguous bool) {
	for bits < 32 && mask>>(31-bits)&1 == 1 {
		bits++
	}
	return bits, mask<<bits == 0
}

func bitsOf(a netip.Addr) uint32 {
	b := a.As4()
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}
