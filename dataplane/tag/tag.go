// Package tag has the codecs of tags that packets carry on their way out of the engine and back: who returns a frame says with it where its
// packet goes on. The engine has the same codec (dataplane/engine/packet/sn_tag.h).
package tag

// The sizes of a continuation's numbers.
const (
	Shards        = 1 << 7
	Continuations = 1 << 17
)

// Continuation tells where a frame goes on that comes back from a function outside of the engine. It names no packet: there is nothing to be
// kept of the frame meanwhile, and nothing times out.
type Continuation struct {
	Nonce  uint16 // of the program that wrote it; another program does not believe it
	Shard  uint8  // below Shards
	Number uint32 // below Continuations; what the program knows it by
}

// local is the first byte of a MAC address that is locally administered and of one station (IEEE 802, section 8.2.2).
const local = 0x02

// checked is the first byte of an address that one frame has for a while, whose function is checked: the engine knows the continuation.
const checked = 0x06

// MAC is the continuation as a MAC address: 02, then the nonce's 16 bits, the shard's 7 and the number's 17. Who forwards frames as a
// bridge does leaves it alone.
func (c Continuation) MAC() [6]byte {
	n := uint32(c.Shard)<<17 | c.Number
	return [6]byte{local, byte(c.Nonce >> 8), byte(c.Nonce), byte(n >> 16), byte(n >> 8), byte(n)}
}

// FromMAC reads a continuation. It is false of an address that cannot be one.
func FromMAC(mac [6]byte) (Continuation, bool) {
	if mac[0] != local {
		return Continuation{}, false
	}
	n := uint32(mac[3])<<16 | uint32(mac[4])<<8 | uint32(mac[5])
	return Continuation{Nonce: uint16(mac[1])<<8 | uint16(mac[2]), Shard: uint8(n >> 17), Number: n % Continuations}, true
}

// IsMark tells whether a frame with this source address may have been sent to a function outside of the engine: by its continuation, or to be
// checked.
func IsMark(mac [6]byte) bool {
	return mac[0] == local || mac[0] == checked
}
