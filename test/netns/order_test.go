package netns

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// swap forwards frames between two devices of a namespace until the test ends, and those that wait at the same time the last one first.
func swap(t *testing.T, s *lab.Space, one, other string) {
	t.Helper()
	wires := []*lab.Wire{s.Wire(t, one, lab.LargeSlot), s.Wire(t, other, lab.LargeSlot)}
	stop, ended := make(chan struct{}), make(chan error, 1)
	forward := func() error {
		for {
			select {
			case <-stop:
				return nil
			default:
			}
			for i, w := range wires {
				frames := slices.Clone(w.Poll())
				slices.Reverse(frames)
				if err := wires[1-i].Send(frames...); err != nil {
					return err
				}
			}
			time.Sleep(100 * time.Microsecond)
		}
	}
	go func() { ended <- forward() }()
	t.Cleanup(func() {
		close(stop)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestAFunctionThatReordersAgainstItsDeclarationIsFound has packets of a connection overtake each other.
func TestAFunctionThatReordersAgainstItsDeclarationIsFound(t *testing.T) {
	lab.Require(t)
	b := startBridged(t, strings.Replace(watched, "outside: ips-outside}}", "outside: ips-outside, behavior: {reorders: false}}}", 1))
	c := connect(t, b.lan, "10.1.0.2", 1)[0]
	bulk := []byte(strings.Repeat("0123456789abcdef", 1<<18/16))
	lab.Until(t, lab.Patience, func() error {
		if err := c.answered(bulk); err != nil {
			t.Fatal(err)
		}
		if w := b.checks(t); w.GetReturned() < 20 {
			return fmt.Errorf("%d checked packets came back, want some", w.GetReturned())
		}
		return nil
	})
	if c := b.checks(t).GetContradictions(); len(c) > 0 {
		t.Errorf("the engine found %v of a bridge that keeps the order", c)
	}

	b.ips.Run(t, "ip", "link", "del", "bridge")
	swap(t, b.ips, "inside", "outside")
	lab.Until(t, lab.Patience, func() error {
		if err := c.answered(bulk); err != nil {
			t.Fatal(err)
		}
		if c := b.checks(t).GetContradictions(); len(c) != 1 || c[0].GetWhat() != "Reordered" || !c[0].GetLately() {
			return fmt.Errorf("the engine found %v, want Reordered", c)
		}
		return nil
	})
}
