package packets

import "encoding/binary"

// Toeplitz is the Toeplitz hash of receive-side scaling ("RSS Hashing Functions", Microsoft): for each bit of the
// input that is set, the 32 bits of the key from there on. The key has at least 4 bytes more than the input.
func Toeplitz(key, input []byte) (hash uint32) {
	window := uint64(binary.BigEndian.Uint32(key)) << 32
	for i, b := range input {
		window |= uint64(key[i+4]) << 24
		for bit := 7; bit >= 0; bit-- {
			if b>>bit&1 != 0 {
				hash ^= uint32(window >> 32)
			}
			window <<= 1
		}
	}
	return hash
}

// FlowInput is what a device hashes of a TCP or UDP packet; its first 8 bytes are what it hashes of others.
func FlowInput(src, dst uint32, sport, dport uint16) [12]byte {
	var b [12]byte
	binary.BigEndian.PutUint32(b[0:], src)
	binary.BigEndian.PutUint32(b[4:], dst)
	binary.BigEndian.PutUint16(b[8:], sport)
	binary.BigEndian.PutUint16(b[10:], dport)
	return b
}

// SymmetricKey is a key of n bytes under which both directions of a flow have the same hash: it repeats after 16
// bits, so that addresses and ports can change places (Woo and Park, "Scalable TCP session monitoring with
// symmetric receive-side scaling").
func SymmetricKey(n int) []byte {
	key := make([]byte, n)
	for i := range key {
		key[i] = [2]byte{0x6d, 0x5a}[i%2]
	}
	return key
}
