package describe

import (
	"encoding/binary"
	"net/netip"
)

// addr is an address of a program: a number in host order.
func addr(v uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], v)
	return netip.AddrFrom4(b)
}

// AddrPort is an address and a port of a program.
func AddrPort(address, port uint32) netip.AddrPort {
	return netip.AddrPortFrom(addr(address), uint16(port))
}
