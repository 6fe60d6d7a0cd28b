package interp

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
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
	// MismatchChoice: a NAPT's visible choice was none that it allows.
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

// ProcessAgainst runs one frame and compares what comes out with what an
// engine did with it. Choices that NAPTs have to make on the way are taken over
// from the engine's frames, where these show them: so later packets meet the same
// bindings. Choices that a later NAPT hides are any that explain what is seen.
// Frames are compared byte for byte and per interface in order, drop reasons as a multiset.
// Both the result and what an engine is seen to send may mix interfaces as they like; the
// result is returned by interface.
func (c *Chain) ProcessAgainst(now time.Duration, iface int, frame []byte, seen Result) (Result, []Mismatch) {
	seen.Out = byInterface(seen.Out)
	s := search{c: c, now: now, iface: iface, frame: frame, seen: seen}
	r := s.explain()
	r.accept()
	diff := compare(r.res, seen)
	for _, m := range r.made {
		if m.denied != nil {
			diff = append(diff, Mismatch{MismatchChoice, m.why(now)})
		}
	}
	if gaveUp(r) {
		diff = append(diff, Mismatch{MismatchExhausted, fmt.Sprintf("%s had a port left", r.made[len(r.made)-1].nat.name)})
	}
	return r.res, diff
}

// search looks for choices that lead to what was seen.
type search struct {
	c     *Chain
	now   time.Duration
	iface int
	frame []byte
	seen  Result
	wide  bool // choices that no wish narrows are far from each other
}

// tries bounds the fresh starts with other hidden choices.
const tries = 3

// explain is a run whose state is in place: one that leads to what was seen if there
// is one, else the nearest.
func (s *search) explain() *run {
	first := s.run(nil, true)
	if s.done(first) || len(first.made) == 0 && len(first.asked) == 0 {
		return first
	}
	first.abandon()
	if r := s.otherGuesses(first); r != nil {
		return r
	}
	for r, i := first, 0; i < tries; i++ {
		for _, w := range []map[string][]wish{s.learn(r), nil} { // nil: other choices where they are hidden
			if r = s.run(w, w != nil && r.again); s.done(r) {
				return r
			}
			r.abandon()
		}
	}
	if r := s.otherSources(first); r != nil {
		return r
	}
	if r := s.returns(first); r != nil {
		return r
	}
	if r := s.giveUp(first); r != nil {
		return r
	}
	if r := s.otherChoices(first); r != nil {
		return r
	}
	return s.run(s.learn(first), true)
}

func (s *search) run(w map[string][]wish, again bool) *run {
	return s.runAfter(func(*run) {}, w, again)
}

// runAfter is a run after a change of state that is taken back with it.
func (s *search) runAfter(change func(*run), w map[string][]wish, again bool) *run {
	r := s.c.newRun(s.now, nil, cloneWishes(w))
	r.again, r.wide = again, s.wide
	change(r)
	s.start(r)
	return r
}

func (s *search) start(r *run) {
	r.start(s.iface, s.frame)
	r.res.Out = byInterface(r.res.Out)
}

// byInterface sorts frames by interface and keeps the order of those of one: engines send
// per interface.
func byInterface(out []Out) []Out {
	return slices.SortedStableFunc(slices.Values(out), func(a, b Out) int { return a.Interface - b.Interface })
}

func cloneWishes(w map[string][]wish) map[string][]wish {
	out := maps.Clone(w)
	for k, v := range out {
		out[k] = slices.Clone(v)
	}
	return out
}

// done is what compare finds no difference in, without a word about it: there can be many tries.
func (s *search) done(r *run) bool {
	return slices.EqualFunc(r.res.Out, s.seen.Out, sameOut) && sameDrops(r.res.Drops, s.seen.Drops)
}

// learn makes wishes of the choices that the engine's frames show, where the
// run's own frames show choices.
func (s *search) learn(r *run) map[string][]wish {
	wishes := map[*made]*wish{}
	for o, seen := range pairs(r.res.Out, s.seen.Out) {
		shown, ok := look(seen.Frame)
		if !ok {
			continue
		}
		wishFor := func(m *made) *wish {
			if wishes[m] == nil {
				wishes[m] = &wish{at: endpoint{proto: m.flow.proto}}
			}
			return wishes[m]
		}
		learnAddr := func(m *made, a uint32) {
			if m != nil {
				w := wishFor(m)
				w.addr, w.at.addr = true, a
			}
		}
		learnPort := func(m *made, port uint16) {
			if m != nil {
				w := wishFor(m)
				w.port, w.at.port = true, port
			}
		}
		learnAddr(o.by.src, shown.src)
		learnAddr(o.by.dst, shown.dst)
		learnPort(o.by.sport, shown.sport)
		learnPort(o.by.dport, shown.dport)
		if shown.quotes {
			learnAddr(o.by.qsrc, shown.qsrc)
			learnPort(o.by.qsport, shown.qsport)
			learnAddr(o.by.qdst, shown.qdst)
			learnPort(o.by.qdport, shown.qdport)
		}
	}
	for _, m := range slices.Backward(r.made) {
		s.hand(m, wishes)
	}
	out := map[string][]wish{}
	for _, m := range r.made {
		w := wish{}
		if wishes[m] != nil {
			w = *wishes[m]
		}
		out[m.nat.name] = append(out[m.nat.name], w)
	}
	return out
}

// pairs are the first frames of each interface, the second, and so on, of two lists by interface.
func pairs(a, b []Out) iter.Seq2[Out, Out] {
	return func(yield func(Out, Out) bool) {
		for len(a) > 0 && len(b) > 0 {
			switch x, y := a[0], b[0]; {
			case x.Interface < y.Interface:
				a = a[1:]
			case x.Interface > y.Interface:
				b = b[1:]
			default:
				if !yield(x, y) {
					return
				}
				a, b = a[1:], b[1:]
			}
		}
	}
}

// hand hands a wish on: if the NAPT still keeps an entry with the wished endpoint and the same
// remote, the engine used that one, and the NAPT before has chosen what leads to it.
func (s *search) hand(m *made, wishes map[*made]*wish) {
	w := wishes[m]
	if w == nil || !w.addr || !w.port || m.by.src == nil || m.by.src != m.by.sport {
		return
	}
	e := m.nat.holder(m.flow, w.at, s.now)
	if e == nil || e.flow.remote() != m.flow.remote() || e.hidden || e.flow == m.flow {
		return
	}
	if at := (endpoint{m.flow.proto, e.flow.src, e.flow.sport}); m.by.src.nat.owns(at) {
		delete(wishes, m)
		wishes[m.by.src] = &wish{addr: true, port: true, at: at}
	}
}

// shown is what a frame shows of choices.
type shown struct {
	src, dst, qsrc, qdst         uint32
	sport, dport, qsport, qdport uint16
	quotes                       bool // an error, of which the quoted fields were read
}

// look reads an engine's frame; ok is false if it is no IPv4 frame that could be compared.
func look(frame []byte) (s shown, ok bool) {
	if len(frame) < 14 {
		return s, false
	}
	ip := frame[14:]
	if isTag(binary.BigEndian.Uint16(frame[12:])) && len(ip) >= 4 {
		ip = ip[4:]
	}
	if n, reason := checkIP(ip, true); reason == "" {
		ip = ip[:n]
	} else if reason != "martian" {
		return s, false
	}
	s.src, s.dst = srcOf(ip), dstOf(ip)
	if ip[9] == protoICMP && icmpType(ip) >= 0 {
		if q := quotedFlow(ip); q != nil {
			var f flow
			f, s.quotes = tuple(q)
			s.qsrc, s.qsport, s.qdst, s.qdport = f.src, f.sport, f.dst, f.dport
		}
	}
	if headed(ip) {
		if f, ok := tuple(ip); ok {
			s.sport, s.dport = f.sport, f.dport
		}
	}
	return s, true
}

// giveUp tries whether the engine found no port where there was one, or counted more of a subscriber than there is.
func (s *search) giveUp(first *run) *run {
	learned := s.learn(first)
	nth := map[*nat]int{}
	for _, m := range first.made {
		n := m.nat
		for _, reason := range []string{element.ReasonNATExhausted, n.element.Limits.Reason} {
			if reason == "" || !slices.Contains(s.seen.Drops, Drop{reason}) {
				continue
			}
			w := cloneWishes(learned)
			w[n.name][nth[n]] = wish{refused: reason}
			r := s.run(w, true)
			if s.done(r) {
				return r
			}
			r.abandon()
		}
		nth[n]++
	}
	return nil
}

// gaveUp tells whether a NAPT was made to find no port in the run.
func gaveUp(r *run) bool {
	for _, m := range r.made {
		if m.gaveUp {
			return true
		}
	}
	return false
}

// manyTries bounds the runs of otherChoices, which the NAPTs that are read share: what none of so many explains is a mismatch.
const manyTries = 1 << 14

// otherChoices tries other choices of each NAPT, the others' left free, so that each try has others, or, if the packet then goes the way that was seen, learnt from there.
func (s *search) otherChoices(first *run) *run {
	s.wide = true
	defer func() { s.wide = false }()
	learned := s.learn(first)
	nth := map[*nat]int{}
	for _, m := range first.made {
		left := manyTries / max(1, len(first.read))
		for at := range s.candidates(m, first) {
			if !m.nat.movable(m.flow, at, first) {
				continue
			}
			if left--; left < 0 {
				break
			}
			if r := s.withChoice(learned, m.nat, nth[m.nat], at); r != nil {
				return r
			}
		}
		nth[m.nat]++
	}
	return nil
}

// withChoice is a run in which the NAPT's nth choice is the endpoint, nil if it does not lead to what was seen.
func (s *search) withChoice(learned map[string][]wish, n *nat, nth int, at endpoint) *run {
	w := cloneWishes(learned)
	w[n.name][nth] = wish{addr: true, port: true, at: at}
	r := s.run(w, true)
	if s.done(r) {
		return r
	}
	r.abandon()
	if !s.sameWay(r) {
		return nil
	}
	w = s.learn(r)
	if list := w[n.name]; nth < len(list) && list[nth] == (wish{}) {
		list[nth] = wish{addr: true, port: true, at: at}
	}
	if r = s.run(w, true); s.done(r) {
		return r
	}
	r.abandon()
	return nil
}

// sameWay tells whether as many frames as were seen leave by each interface, and as many packets end.
func (s *search) sameWay(r *run) bool {
	same := func(a, b Out) bool { return a.Interface == b.Interface }
	return slices.EqualFunc(r.res.Out, s.seen.Out, same) && sameDrops(r.res.Drops, s.seen.Drops)
}

// candidates are choices that a NAPT can have: those that frames show, for where the run found
// no port and so had no frame to learn by, or none that goes where an answer to the choice goes; the endpoint that the packet itself goes to, by which it comes back; then, if
// the chain read the choice, which need not show it, all. These go around the ports in wide steps, to meet every range
// of ports early.
func (s *search) candidates(m *made, first *run) iter.Seq[endpoint] {
	return func(yield func(endpoint) bool) {
		if !hasPorts(m.flow.proto) || m.added {
			return // it had none
		}
		for _, o := range s.seen.Out {
			f, ok := look(o.Frame)
			if ok && !(yield(endpoint{m.flow.proto, f.src, f.sport}) && yield(endpoint{m.flow.proto, f.dst, f.dport})) {
				return
			}
		}
		for _, q := range first.asked {
			if q.asker == m && q.nat == m.nat && !yield(q.at) {
				return
			}
		}
		if !slices.Contains(first.read, m) {
			return
		}
		low := int(m.nat.element.PortMin)
		n := int(m.nat.element.PortMax) - low + 1
		stride := max(1, n*5/8)
		for gcd(stride, n) != 1 {
			stride++
		}
		for i := range n {
			for _, a := range m.nat.pool {
				if !yield(endpoint{m.flow.proto, a, uint16(low + i*stride%n)}) {
					return
				}
			}
		}
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// why says what is wrong with the engine's choice.
func (m *made) why(now time.Duration) string {
	b := m.nat.binding(m.of)
	p := m.nat.element
	e := m.nat.holder(m.flow, *m.denied, now)
	why := fmt.Sprintf("not of the pool %v, ports %d-%d", p.Pool, p.PortMin, p.PortMax)
	if e != nil {
		why = fmt.Sprintf("in use by %v → %v, idle for %v", m.nat.binding(e.flow).Inside, m.nat.binding(e.flow).Remote, e.idle(now))
	}
	return fmt.Sprintf("%s: %v → %v became %v: %s", b.Node, b.Inside, b.Remote, m.denied.addrPort(), why)
}

// compare lists the differences between what is right and what was seen.
func compare(want, seen Result) []Mismatch {
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

func sameOut(a, b Out) bool { return a.Interface == b.Interface && bytes.Equal(a.Frame, b.Frame) }

func sameInAnyOrder(a, b []Out) bool {
	order := func(x, y Out) int {
		if x.Interface != y.Interface {
			return x.Interface - y.Interface
		}
		return bytes.Compare(x.Frame, y.Frame)
	}
	return slices.EqualFunc(slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order), sameOut)
}

func sameDrops(a, b []Drop) bool {
	if slices.Equal(a, b) {
		return true
	}
	n := map[Drop]int{}
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

func outs(list []Out) string {
	if len(list) == 0 {
		return "nothing"
	}
	s := ""
	for _, o := range list {
		s += fmt.Sprintf("\n  interface %d: %s", o.Interface, hex.EncodeToString(o.Frame))
	}
	return s
}
