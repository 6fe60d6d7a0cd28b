package dispatch

import (
	"fmt"
	"math/bits"
)

// Indirection is the device's table from hash to queue for a map from shards to queues, both of lengths that are
// powers of two. With fewer buckets than shards, those that share a bucket must share a queue.
func Indirection(queues []uint16, buckets int) ([]uint16, error) {
	if bits.OnesCount(uint(buckets)) != 1 {
		return nil, fmt.Errorf("the indirection table has %d entries, want a power of two", buckets)
	}
	out := make([]uint16, buckets)
	for i := range out {
		out[i] = queues[i%len(queues)]
	}
	for s, q := range queues {
		if other := s % buckets; out[other] != q {
			return nil, fmt.Errorf("shards %d and %d share bucket %d of %d, but not a queue: %d and %d", other, s, other, buckets, out[other], q)
		}
	}
	return out, nil
}

// Ports are the outside ports of NAPTs by the shard to which a device's hash sends the returning packets. The hash is
// linear: a port's bits turn the low bits of the hash, whatever else is hashed. So the ports that turn them by one number are
// one of them, and that one combined with those that turn nothing.
type Ports struct {
	Turn []uint16 // a port that turns the hash's low bits by the index
	Same []uint16 // ports that turn nothing, and of which no combination (exclusive or) is 0
	key  []byte
}

// NewPorts finds the ports for a hash key and 1<<n shards; it fails if some shard has none.
func NewPorts(key []byte, n int) (*Ports, error) {
	if want := len(FlowInput(0, 0, 0, 0)) + 4; len(key) < want {
		return nil, fmt.Errorf("the hash key has %d bytes, want at least %d", len(key), want)
	}
	p := &Ports{Turn: make([]uint16, 1<<n), key: key}
	// Gauss: pivots[b] is a port whose turn has b as its highest bit.
	type vector struct {
		port uint16
		turn uint32
	}
	pivots := make([]vector, n)
	for bit := range 16 {
		v := vector{port: 1 << bit}
		in := FlowInput(0, 0, 0, v.port)
		v.turn = Hash(key, in[:]) & (1<<n - 1)
		for v.turn != 0 {
			top := bits.Len32(v.turn) - 1
			if pivots[top].turn == 0 {
				pivots[top] = v
				break
			}
			v.port ^= pivots[top].port
			v.turn ^= pivots[top].turn
		}
		if v.turn == 0 {
			p.Same = append(p.Same, v.port)
		}
	}
	for want := range p.Turn {
		for left := uint32(want); left != 0; {
			v := pivots[bits.Len32(left)-1]
			if v.turn == 0 {
				return nil, fmt.Errorf("under this hash key no port turns the hash by %d: choose another key", want)
			}
			p.Turn[want] ^= v.port
			left ^= v.turn
		}
	}
	return p, nil
}

// Len is the number of ports of each shard.
func (p *Ports) Len() int { return 1 << len(p.Same) }

// Of is the i-th outside port whose returning packets, from remote to outside, hash to the shard; each i < Len gives
// another one.
func (p *Ports) Of(shard, remote, outside uint32, remotePort uint16, i int) uint16 {
	in := FlowInput(remote, outside, remotePort, 0)
	mask := uint32(len(p.Turn) - 1)
	port := p.Turn[(shard^Hash(p.key, in[:]))&mask]
	for b, same := range p.Same {
		if i>>b&1 != 0 {
			port ^= same
		}
	}
	return port
}
