package rule

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Address is an address that a program has as a number.
func Address(a uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], a)
	return netip.AddrFrom4(b)
}

// ValueText is a field's value in words.
func ValueText(f programpb.Field, v uint32) string {
	switch {
	case f == programpb.Field_SRC || f == programpb.Field_DST:
		return Address(v).String()
	case f == programpb.Field_VLAN && v == 4096:
		return "none"
	}
	return fmt.Sprint(v)
}
