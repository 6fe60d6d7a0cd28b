package flows

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// exporting is a program that exports to a collector.
func exporting(to net.Addr, sampling uint32) *programpb.Program {
	a := netip.MustParseAddrPort(to.String())
	b := a.Addr().As4()
	return &programpb.Program{Observations: []*programpb.Observation{{Export: &programpb.FlowExport{
		Collector: binary.BigEndian.Uint32(b[:]), Port: uint32(a.Port()), Sampling: sampling, ActiveMs: 60_000, IdleMs: 15_000,
	}}}}
}

// TestAnExportFollowsTheProgram has flows exported, to one collector and then another, and then no longer.
func TestAnExportFollowsTheProgram(t *testing.T) {
	listen := func() net.PacketConn {
		c, err := net.ListenPacket("udp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	first, second := listen(), listen()
	now := time.Now()
	var waiting []*programpb.FlowRecords
	read := func(context.Context) (*programpb.FlowRecords, error) {
		if len(waiting) == 0 {
			return &programpb.FlowRecords{}, nil
		}
		r := waiting[0]
		waiting = waiting[1:]
		return r, nil
	}
	records := func(sport uint32, more bool) *programpb.FlowRecords {
		return &programpb.FlowRecords{UnixNs: uint64(now.UnixNano()), More: more, Records: []*programpb.FlowRecord{at(sport, 0, 3, 10, 5)}}
	}
	x := &Export{}
	step := func(p *programpb.Program, want time.Duration) {
		t.Helper()
		if d, err := x.Step(t.Context(), p, read, now); err != nil || d < want {
			t.Fatalf("come again after %v, error %v; want %v at least", d, err, want)
		}
	}
	step(nil, unwanted)
	step(&programpb.Program{}, unwanted)
	waiting = []*programpb.FlowRecords{records(1, true), records(2, false)}
	step(exporting(first.LocalAddr(), 1), pause)
	if x.cache.Len() != 2 || len(waiting) != 0 {
		t.Errorf("%d flows wait, %d readings are left; want both flows read", x.cache.Len(), len(waiting))
	}
	now = now.Add(time.Second)
	waiting = []*programpb.FlowRecords{records(3, false)}
	step(exporting(second.LocalAddr(), 10), pause) // the first gets what was its
	step(&programpb.Program{}, unwanted)
	if n := flowsAt(t, first); n != 2 {
		t.Errorf("the first collector got %d flows, want 2", n)
	}
	if n := flowsAt(t, second); n != 1 {
		t.Errorf("the second collector got %d flows, want 1", n)
	}
	if c := x.Counts(); c.Lost != 0 || c.Records != 3+2+2 { // flows, losses told twice, sampling in two ways
		t.Errorf("counted %+v", c)
	}
}

// flowsAt is how many flows came in messages that wait.
func flowsAt(t *testing.T, c net.PacketConn) (n int) {
	t.Helper()
	for {
		b := make([]byte, 2000)
		if err := c.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		l, _, err := c.ReadFrom(b)
		if err != nil {
			return n
		}
		for b = b[16:l]; len(b) > 0; b = b[binary.BigEndian.Uint16(b[2:]):] {
			if id := binary.BigEndian.Uint16(b); id == flowTemplate.ID {
				n += (int(binary.BigEndian.Uint16(b[2:])) - 4) / flowTemplate.Length()
			}
		}
	}
}

func TestAnEngineThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	x := &Export{}
	silent := errors.New("no answer")
	d, err := x.Step(t.Context(), exporting(c.LocalAddr(), 1), func(context.Context) (*programpb.FlowRecords, error) { return nil, silent }, time.Now())
	if !errors.Is(err, silent) || d < afterward {
		t.Errorf("come again after %v, error %v", d, err)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}

// TestManyFlowsThatEndTogetherAreExportedBitByBit: as many as a scan leaves. None is lost, and no
// step takes more than there is room for.
func TestManyFlowsThatEndTogetherAreExportedBitByBit(t *testing.T) {
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const flows = 100_000
	now := time.Now()
	left := flows
	read := func(context.Context) (*programpb.FlowRecords, error) {
		r := &programpb.FlowRecords{UnixNs: uint64(now.UnixNano())}
		for range min(4096, left) {
			left--
			r.Records = append(r.Records, &programpb.FlowRecord{Source: uint32(left), Packets: 1, Bytes: 40})
		}
		r.More = left > 0
		return r, nil
	}
	x := &Export{}
	step := func() {
		before := x.cache.Len()
		if _, err := x.Step(t.Context(), exporting(c.LocalAddr(), 1), read, now); err != nil {
			t.Fatal(err)
		}
		if exported := before - x.cache.Len(); exported > mostDue {
			t.Fatalf("%d flows at once", exported)
		}
	}
	step()
	if x.cache.Len() != flows {
		t.Fatalf("%d flows wait, want %d", x.cache.Len(), flows)
	}
	now = now.Add(15 * time.Second)
	for range flows/mostDue + 1 {
		step()
		for x.exporter.Room() < mostDue {
			time.Sleep(time.Millisecond)
		}
	}
	if x.cache.Len() != 0 {
		t.Errorf("%d flows wait still", x.cache.Len())
	}
	for range 1000 { // one more flow, as the export ends
		x.cache.Add(&programpb.FlowRecords{Records: []*programpb.FlowRecord{{Source: 1, Packets: 1}}})
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if c := x.Counts(); c.Lost != 0 || c.Records < flows+1 {
		t.Errorf("%d records were sent and %d lost, want %d and none", c.Records, c.Lost, flows+1)
	}
}

// An engine that gets little of its CPU takes seconds to look at all of its flows. It is waited for as long as it comes further.
func TestTheLastFlowsAreWaitedForAsLongAsTheEngineComesFurther(t *testing.T) {
	for name, c := range map[string]struct {
		each, takes time.Duration // to look at all flows; to finish
		fails       bool
	}{
		"an engine with a CPU of its own":  {time.Second, 2 * time.Second, false},
		"an engine with little of its CPU": {9 * time.Second, 18 * time.Second, false},
		"an engine that stands still":      {time.Hour, finishTime, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := new(Export).drain(t.Context(), func(context.Context) (*programpb.FlowRecords, error) {
					return &programpb.FlowRecords{Rounds: 7 + uint64(time.Since(began)/c.each)}, nil
				})
				if took := time.Since(began).Round(time.Second); (err != nil) != c.fails || took != c.takes {
					t.Errorf("finished after %s (%v), want %s", took, err, c.takes)
				}
			})
		})
	}
}
