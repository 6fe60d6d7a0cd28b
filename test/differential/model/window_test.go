package model

import (
	"testing"
)

func TestTheModelTakesSegmentsBehindAClosedWindow(t *testing.T) {
	// The sender has sent up to 120, to probe a window that ends at 100 (RFC 9293 section 3.8.6.1).
	probed := checking{on: true, heard: [2]bool{true, true}, sent: [2]uint32{120, 500}, may: [2]uint32{100, 600}}
	for _, c := range []struct {
		from uint32
		want bool
	}{{100, true}, {101, true}, {120, true}, {121, false}} {
		n := numbered{ack: true, from: c.from, to: c.from + 1, acknowledges: 500}
		if got := probed.takes(n, 0, &connection{shift: [2]int{-1, -1}}); got != c.want {
			t.Errorf("a segment with number %d is taken: %t, want %t", c.from, got, c.want)
		}
	}
}
