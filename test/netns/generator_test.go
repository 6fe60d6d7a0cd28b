package netns

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/cpu"
	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// Pace of the generator.
const (
	tick = 200 * time.Microsecond
	// maxBurst bounds what is sent at once after a delay: the rest is sent later, at a lower mean rate.
	maxBurst = 1024
	frameMax = 128
)

// generator sends numbered packets in by both interfaces at an even pace, and checks those that come out.
type generator struct {
	inside, outside *lab.Wire
	engine          [2]packets.MAC // the engine's, by side
	lanes           []*lane        // in the order in which they send
	byID            []*lane        // nil: none; see pair
	turn            int
	room            [lab.Batch][frameMax]byte
	arrived         uint64
	markedOut       atomic.Uint64 // packets of marked lanes that have come out
	foreign         uint64        // frames that are not the generator's
}

// newGenerator has a lane of its own for every flow, and for those answered one back.
func newGenerator(inside, outside *lab.Wire, engineInside, engineOutside packets.MAC) *generator {
	return &generator{inside: inside, outside: outside, engine: [2]packets.MAC{engineInside, engineOutside}}
}

// add gives the generator a flow. Its lane has an even number; the lane of its answers, if it has them, the next one.
func (g *generator) add(f tuple, answered bool) *lane {
	l := newLane(f, uint32(len(g.byID)), hostMAC, g.engine[0])
	g.lanes = append(g.lanes, l)
	if answered {
		l.answers = &lane{id: l.id + 1}
		g.lanes = append(g.lanes, l.answers)
	}
	g.byID = append(g.byID, l, l.answers)
	return l
}

// aim gives answers the binding of their flow as their destination.
func (g *generator) aim(l, opened *lane) {
	f := tuple{src: opened.dst, sport: opened.dport, dst: opened.bound.addr, dport: opened.bound.port, proto: opened.proto, flags: opened.flags}
	*l = *newLane(f, l.id, gatewayMAC, g.engine[1])
}

// load is what a run of the generator did.
type load struct {
	sent    uint64
	took    time.Duration
	delayed time.Duration // by how much the pace fell behind, in all
}

func (l load) rate() float64 { return float64(l.sent) / l.took.Seconds() }

// run sends at a rate until stop is closed or so many packets are out, and then reads what still comes.
func (g *generator) run(rate float64, count uint64, stop <-chan struct{}) (l load, err error) {
	if err := cpu.Favour(); err != nil {
		return l, err
	}
	began := time.Now()
	schedule := began
	for l.sent < count {
		select {
		case <-stop:
			count = l.sent
			continue
		default:
		}
		due := min(uint64(time.Since(schedule).Seconds()*rate), count)
		if late := int64(due-l.sent) - maxBurst; due > l.sent && late > 0 {
			slip := time.Duration(float64(late) / rate * float64(time.Second))
			schedule = schedule.Add(slip)
			l.delayed += slip
			due = l.sent + maxBurst
		}
		for l.sent < due {
			n, err := g.burst(int(min(due-l.sent, lab.Batch)))
			if err != nil {
				return l, err
			}
			l.sent += uint64(n)
			g.drain()
		}
		g.drain()
		cpu.Nap(tick)
	}
	l.took = time.Since(began)
	g.settle()
	return l, nil
}

// burst sends one packet of each of the next n lanes. All go by one interface, so that a call sends many.
func (g *generator) burst(n int) (int, error) {
	var in, out [lab.Batch][]byte
	ni, no := 0, 0
	for i := 0; i < n; {
		l := g.lanes[g.turn]
		g.turn = (g.turn + 1) % len(g.lanes)
		if l.frame == nil {
			continue // nothing to answer yet
		}
		f := l.write(g.room[i][:])
		if l.answer() {
			out[no] = f
			no++
		} else {
			in[ni] = f
			ni++
		}
		i++
	}
	if err := g.inside.Send(in[:ni]...); err != nil {
		return 0, err
	}
	return n, g.outside.Send(out[:no]...)
}

// answer tells whether the lane leads from outside to inside.
func (l *lane) answer() bool { return l.id&1 == 1 }

// drain reads all that has come out.
func (g *generator) drain() {
	for _, w := range []*lab.Wire{g.inside, g.outside} {
		for {
			frames := w.Poll()
			for _, f := range frames {
				g.take(f, w == g.outside)
			}
			if len(frames) < lab.Batch {
				break
			}
		}
	}
}

func (g *generator) take(f []byte, outside bool) {
	s, ok := read(f)
	if !ok {
		g.foreign++
		return
	}
	g.arrived++
	l := g.byID[s.lane]
	switch {
	case l.answer() == outside:
		l.wrong = "a packet came out where it had come in"
	case outside:
		l.arriveOutside(s)
		if l.marked {
			g.markedOut.Add(1)
		}
		if a := l.answers; a != nil && a.frame == nil {
			g.aim(a, l)
		}
	default:
		l.arriveInside(s, g.byID[s.lane-1])
	}
}

// settle reads until nothing has come for a while.
func (g *generator) settle() {
	const quiet = 100 * time.Millisecond
	for last := time.Now(); time.Since(last) < quiet; cpu.Nap(tick) {
		before := g.arrived
		g.drain()
		if g.arrived != before {
			last = time.Now()
		}
	}
}

// verdict forgets the past of all lanes and tells what was wrong in it; marked lanes may have lost packets if so said.
func (g *generator) verdict(markedMayMiss bool) error {
	var bad []string
	var missing, disordered uint64
	for _, l := range g.lanes {
		if l.frame == nil {
			continue
		}
		m := l.missing()
		if l.marked && markedMayMiss {
			m = 0
		}
		if m > 0 || l.disordered > 0 || l.wrong != "" {
			bad = append(bad, fmt.Sprintf("%s: %d of %d lost, %d out of order; %s", l, m, l.sent, l.disordered, l.wrong))
		}
		missing += m
		disordered += l.disordered
		l.sent, l.next, l.lost, l.disordered, l.wrong = 0, 0, 0, 0, ""
	}
	if len(bad) == 0 {
		return nil
	}
	return fmt.Errorf("%d packets lost and %d out of order in %d flows:\n%s", missing, disordered, len(bad),
		strings.Join(bad[:min(len(bad), 10)], "\n"))
}

func (l *lane) String() string {
	return fmt.Sprintf("%s:%d > %s:%d protocol %d", address(l.src), l.sport, address(l.dst), l.dport, l.proto)
}

// overflow is how many packets the generator itself failed to read.
func (g *generator) overflow(t *testing.T) uint32 {
	return g.inside.Overflow(t) + g.outside.Overflow(t)
}
