package dispatch

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestReturningPacketsHashHomeWhateverTheFlow(t *testing.T) {
	for name, key := range map[string][]byte{"symmetric": SymmetricKey(40), "any other": verificationKey} {
		t.Run(name, func(t *testing.T) {
			ports, err := NewPorts(key, ShardBits)
			if err != nil {
				t.Fatal(err)
			}
			if ports.Len() != 65536>>ShardBits {
				t.Fatalf("a shard has %d ports, want %d: all are somebody's", ports.Len(), 65536>>ShardBits)
			}
			rapid.Check(t, func(t *rapid.T) {
				shard := rapid.Uint32Range(0, 1<<ShardBits-1).Draw(t, "shard")
				remote, outside := rapid.Uint32().Draw(t, "remote"), rapid.Uint32().Draw(t, "outside")
				remotePort := rapid.Uint16().Draw(t, "remote port")
				seen := map[uint16]bool{}
				for i := range ports.Len() {
					port := ports.Of(shard, remote, outside, remotePort, i)
					back := FlowInput(remote, outside, remotePort, port)
					if got := Hash(key, back[:]) & (1<<ShardBits - 1); got != shard {
						t.Fatalf("port %d: packets return to shard %d, want %d", port, got, shard)
					}
					if seen[port] {
						t.Fatalf("port %d twice", port)
					}
					seen[port] = true
				}
			})
		})
	}
}

func TestAKeyUnderWhichSomeShardHasNoPortIsRefused(t *testing.T) {
	if _, err := NewPorts(make([]byte, 40), ShardBits); err == nil || !strings.Contains(err.Error(), "choose another key") {
		t.Errorf("a key of zeros: %v", err)
	}
	if _, err := NewPorts(SymmetricKey(12), ShardBits); err == nil || !strings.Contains(err.Error(), "12 bytes, want at least 16") {
		t.Errorf("a short key: %v", err)
	}
}

func TestTheIndirectionTableIsTheShardMap(t *testing.T) {
	queues := Spread(3, ShardBits)
	for _, buckets := range []int{128, 512} {
		table, err := Indirection(queues, buckets)
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			hash := rapid.Uint32().Draw(t, "hash")
			if got, want := table[hash%uint32(buckets)], queues[hash%uint32(len(queues))]; got != want {
				t.Fatalf("%d buckets: hash %#x goes to queue %d, want %d", buckets, hash, got, want)
			}
		})
	}
}

func TestShardsThatShareABucketCannotPart(t *testing.T) {
	if _, err := Indirection(Spread(2, ShardBits), 64); err == nil || !strings.Contains(err.Error(), "shards 0 and 64 share bucket 0 of 64") {
		t.Errorf("halves in 64 buckets: %v", err)
	}
	alternating := make([]uint16, 128)
	for i := range alternating {
		alternating[i] = uint16(i % 2)
	}
	if _, err := Indirection(alternating, 64); err != nil {
		t.Errorf("alternating in 64 buckets: %v", err)
	}
	if _, err := Indirection(alternating, 100); err == nil || !strings.Contains(err.Error(), "power of two") {
		t.Errorf("100 buckets: %v", err)
	}
}
