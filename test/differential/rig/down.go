package rig

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp"
)

// probeType is the EtherType of probes (docs/blackbox.md).
const probeType = 0x88b6

const (
	betweenProbes = 10 * time.Millisecond
	// probesToKnow are as many as an engine sends until it knows which functions are down, whatever it knew; probesToKnowClosed, if one that is closed is.
	probesToKnow       = 7
	probesToKnowClosed = 102
	// longPause is one after which functions may have come or gone: time for these probes, and shorter than the one after which an engine forgets what
	// it knew of functions.
	longPause = 2 * time.Second
)

// watched are the functions outside of the chain that get probes.
type watched struct {
	names  []string
	closed map[string]bool
	down   map[string]bool
	now    time.Duration // of the last packets
}

func (w *watched) add(name string, e element.Stop) {
	if e.WhenDown != element.StopUnwatched {
		w.names = append(w.names, name)
	}
	if w.closed == nil {
		w.closed = map[string]bool{}
	}
	w.closed[name] = e.WhenDown == element.StopClosed
}

// pass has time pass until some packets come, and draws which functions are down then. It tells how many probes it takes to know that; 0: it is as before.
func (w *watched) pass(now time.Duration, oracle *interp.Chain) (probes int) {
	last := w.now
	w.now = now
	if len(w.names) == 0 || now-last < longPause {
		return 0
	}
	probes = probesToKnow
	w.down = map[string]bool{}
	for _, name := range w.names {
		lot := fnv.New32a()
		_, _ = lot.Write(binary.BigEndian.AppendUint64([]byte(name), uint64(now))) // never fails
		one := uint32(3)                                                           // of so many times it is down; more seldom if that takes many probes
		if w.closed[name] {
			one = 8
		}
		w.down[name] = lot.Sum32()%one == 0
		oracle.SetDown(name, w.down[name])
		if w.down[name] {
			probes = max(probes, w.toKnow(name))
		}
	}
	return probes
}

// toKnow is how many probes it takes to know that a function is down.
func (w *watched) toKnow(name string) int {
	if w.closed[name] {
		return probesToKnowClosed
	}
	return probesToKnow
}

// outlast has the engine know which functions are down before packets come.
func (r *Rig) outlast(ctx context.Context, now time.Duration) error {
	for k := r.watched.pass(now, r.Oracle); k > 0; k-- {
		if _, _, err := r.inject(ctx, Step{Now: now - time.Duration(k)*betweenProbes}, nil); err != nil {
			return err
		}
	}
	return nil
}

// withoutProbes takes the probes out of what an engine sent, and returns those of functions that are up.
func (r *Rig) withoutProbes(ctx context.Context, now time.Duration, sent []*controlpb.OutPacket) ([]*controlpb.OutPacket, error) {
	var others []*controlpb.OutPacket
	answers := &controlpb.Inject{NowNs: uint64(now)}
	for _, o := range sent {
		stop, leads := r.stops[int(o.GetInterface())]
		if data := o.GetData(); !leads || binary.BigEndian.Uint16(data[12:]) != probeType {
			others = append(others, o)
			continue
		}
		r.probes[int(o.GetInterface())]++
		if !r.watched.down[stop.name] {
			answers.Packets = append(answers.Packets, &controlpb.InjectedPacket{Interface: uint32(stop.back), Data: o.GetData()})
		}
	}
	if len(answers.GetPackets()) == 0 {
		return others, nil
	}
	heard, err := r.Engine.Inject(ctx, answers)
	if err != nil {
		return nil, r.Engine.Died(err)
	}
	if len(heard.GetOut())+len(heard.GetDrops()) > 0 {
		return nil, fmt.Errorf("chain %s at %v: the engine takes its probes for packets: %v", r.Chain, now, heard)
	}
	return others, nil
}
