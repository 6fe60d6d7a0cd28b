package interp

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

// Kind sorts mismatches.
type Kind string

// The kinds of mismatches.
const (
	// MismatchOutput: a frame differs, is missing or is too much.
	MismatchOutput Kind = "output"
	// MismatchOrder: the right frames, but those of an interface in another order.
	MismatchOrder Kind = "order"
	// MismatchDrops: other drop reasons, or another number of them.
	MismatchDrops Kind = "drops"
	// MismatchChoice: a NAPT's choice was none that it allows.
	MismatchChoice Kind = "choice"
	// MismatchExhausted: the engine dropped as nat-exhausted where a port is
	// free, or for a subscriber's limit that is not reached. Allowed to engines that split the ports among shards, or
	// count what other workers have not reclaimed; the chain went on as if the NAPT had found none.
	MismatchExhausted Kind = "exhausted"
)

// Mismatch is a difference between the chain and an engine on one frame.
type Mismatch struct {
	Kind   Kind
	Detail string
}

func (m Mismatch) String() string { return fmt.Sprintf("%s: %s", m.Kind, m.Detail) }

// Seen is what an engine did with a frame.
type Seen struct {
	pass.Result
	Told []pass.Told // what it chose, in their order
}

// ProcessAgainst runs one frame and compares what comes out with what an engine did with it. What NAPTs have to choose on the way is
// what the engine chose, if it may: so later packets meet the same bindings. Where it chose nothing, nothing depends on it (pass.Origin).
// Frames are compared byte for byte and per interface in order, but for the continuations of those that leave for a stop; drop reasons as a multiset. What
// goes past functions that are down by several ways may do so in any order, as if it had left. Both the result and what an engine is seen
// to send may mix interfaces as they like; the result is returned by interface.
func (c *Chain) ProcessAgainst(now time.Duration, iface int, frame []byte, seen Seen) (pass.Result, []Mismatch) {
	seen.Out = byInterface(seen.Out)
	for i, o := range seen.Out {
		seen.Out[i].Tagged = o.Interface < len(c.links) && c.links[o.Interface].wire && isTagged(o.Frame)
	}
	r := c.runAgainst(now, iface, frame, seen, nil)
	diff := c.differences(r, seen)
	if len(diff) > 0 && c.MayRefuse(seen.Drops) {
		r.Abandon()
		r = c.runAgainst(now, iface, frame, seen, seen.Drops)
		diff = c.differences(r, seen)
	}
	r.Accept()
	for _, d := range append(r.Denied, r.Unasked()...) {
		diff = append(diff, Mismatch{MismatchChoice, d})
	}
	if len(r.Yielded) > 0 {
		diff = append(diff, Mismatch{MismatchExhausted, fmt.Sprintf("%s had a port and room left", strings.Join(r.Yielded, ", "))})
	}
	return r.Result, diff
}

// runAgainst is a run with an engine's choices. Where it made none, elements refuse flows for one of the reasons that are theirs.
func (c *Chain) runAgainst(now time.Duration, iface int, frame []byte, seen Seen, refusals []pass.Drop) *run {
	r := c.newRun(now)
	r.Follow(seen.Told, refusals)
	r.start(iface, frame)
	r.Result.Out = byInterface(r.Result.Out)
	return r
}

// differences are those between a run and what was seen that count.
func (c *Chain) differences(r *run, seen Seen) []Mismatch {
	diff := compare(r.Result, seen.Result)
	if len(c.ways) > 1 {
		diff = slices.DeleteFunc(diff, func(m Mismatch) bool { return m.Kind == MismatchOrder })
	}
	return diff
}

// byInterface sorts frames by interface and keeps the order of those of one: engines send
// per interface.
func byInterface(out []pass.Out) []pass.Out {
	return slices.SortedStableFunc(slices.Values(out), func(a, b pass.Out) int { return a.Interface - b.Interface })
}

// compare lists the differences between what is right and what was seen.
func compare(want, seen pass.Result) []Mismatch {
	var diff []Mismatch
	if !slices.EqualFunc(want.Out, seen.Out, sameOut) {
		kind := MismatchOutput
		if sameInAnyOrder(want.Out, seen.Out) {
			kind = MismatchOrder
		}
		diff = append(diff, Mismatch{kind, fmt.Sprintf("want %s\nseen %s", outs(want.Out), outs(seen.Out))})
	}
	if !sameDrops(want.Drops, seen.Drops) {
		diff = append(diff, Mismatch{MismatchDrops, fmt.Sprintf("want %v, seen %v", want.Drops, seen.Drops)})
	}
	return diff
}

func sameOut(a, b pass.Out) bool {
	return a.Interface == b.Interface && a.Tagged == b.Tagged && bytes.Equal(untagged(a), untagged(b))
}

func sameInAnyOrder(a, b []pass.Out) bool {
	order := func(x, y pass.Out) int {
		if x.Interface != y.Interface {
			return x.Interface - y.Interface
		}
		return bytes.Compare(untagged(x), untagged(y))
	}
	return slices.EqualFunc(slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order), sameOut)
}

func sameDrops(a, b []pass.Drop) bool {
	if slices.Equal(a, b) {
		return true
	}
	n := map[pass.Drop]int{}
	for _, d := range a {
		n[d]++
	}
	for _, d := range b {
		if n[d]--; n[d] < 0 {
			return false
		}
	}
	return len(a) == len(b)
}

func outs(list []pass.Out) string {
	if len(list) == 0 {
		return "nothing"
	}
	s := ""
	for _, o := range list {
		s += fmt.Sprintf("\n  interface %d: %s", o.Interface, hex.EncodeToString(o.Frame))
	}
	return s
}
