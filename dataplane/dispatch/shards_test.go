package dispatch

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/shard"
)

func TestRunsAreAlignedAndTellEachShardsQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := 1 << rapid.IntRange(0, 7).Draw(t, "bits")
		queues := make([]uint16, n)
		for i := range queues {
			queues[i] = rapid.Uint16Range(0, 2).Draw(t, "queue")
			if i > 0 && rapid.IntRange(0, 3).Draw(t, "stay") > 0 {
				queues[i] = queues[i-1]
			}
		}
		var again []uint16
		for _, r := range Runs(queues) {
			if r.First&(1<<r.Bits-1) != 0 || int(r.First) != len(again) {
				t.Fatalf("run %+v is not aligned, or not the next after %d shards", r, len(again))
			}
			for range 1 << r.Bits {
				again = append(again, r.Queue)
			}
		}
		if !slices.Equal(again, queues) {
			t.Fatalf("got %v, want %v", again, queues)
		}
	})
}

func TestRunsAreAsFewAsAlignmentAllows(t *testing.T) {
	for name, c := range map[string]struct {
		queues []uint16
		want   int
	}{
		"one queue is one run":               {make([]uint16, 128), 1},
		"halves are two":                     {Spread(2, shard.Bits), 2},
		"thirds of 128 are no powers of two": {Spread(3, shard.Bits), 13},
		"a single moved shard cuts the rest": {append([]uint16{1}, make([]uint16, 127)...), 8},
	} {
		t.Run(name, func(t *testing.T) {
			if got := len(Runs(c.queues)); got != c.want {
				t.Errorf("got %d runs, want %d", got, c.want)
			}
		})
	}
}
