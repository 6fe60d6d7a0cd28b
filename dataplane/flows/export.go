package flows

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/dataplane/ipfix"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Reader is an engine that is asked for its records.
type Reader func(context.Context) (*programpb.FlowRecords, error)

// Export reads an engine's records of flows, gathers them, and sends them to the collector that the program names.
type Export struct {
	mu       sync.Mutex
	wants    *programpb.FlowExport // as it was when the exporter was made
	cache    Cache
	exporter *ipfix.Exporter
	before   ipfix.Counts // of exporters that have ended
	engine   ipfix.Counts // what the engine lost, as it told last
	// lost is what was not sent, for the exporter: it asks beside us.
	lost atomic.Pointer[ipfix.Counts]
}

const (
	// MaxFlows is how many flows are gathered at most: about 60 MB.
	MaxFlows = 1 << 18
	// mostReads bounds a step: an engine that has more than that is read again at once.
	mostReads = 64
)

// mostDue is how many flows a step exports because of their timeouts: a scan's may all end at once,
// and neither memory nor the collector has room for so many.
const mostDue = 1 << 13

// Pauses between steps. One is not shorter than its step took, so that others who share the CPU get
// as much of it.
const (
	pause     = 500 * time.Millisecond
	hurry     = 50 * time.Millisecond
	unwanted  = time.Second
	afterward = 2 * time.Second // something went wrong
)

// Step reads what the engine has and sends what is due. p is the program that the engine runs; nil: it is not known. It returns when to come again.
func (x *Export) Step(ctx context.Context, p *programpb.Program, read Reader, now time.Time) (time.Duration, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	began := time.Now()
	next, err := x.step(ctx, p, read, now)
	return max(next, time.Since(began)), err
}

func (x *Export) step(ctx context.Context, p *programpb.Program, read Reader, now time.Time) (time.Duration, error) {
	if err := x.follow(ctx, wanted(p)); err != nil {
		return afterward, err
	}
	if x.exporter == nil {
		return unwanted, nil
	}
	lost := sum(x.counts(), x.engine)
	x.lost.Store(&lost)
	next := pause
	for i := 0; ; i++ {
		records, err := read(ctx)
		if err != nil {
			x.due(now)
			return afterward, err
		}
		x.send(x.cache.Add(records))
		if !records.GetMore() {
			break
		}
		if i == mostReads {
			next = hurry
			break
		}
	}
	if x.due(now) {
		next = hurry
	}
	return next, nil
}

// due sends flows that are due, as many as the exporter has room for. True: there may be more.
func (x *Export) due(now time.Time) bool {
	most := min(mostDue, x.exporter.Room())
	list := x.cache.Due(now, most)
	x.send(list)
	return len(list) == most
}

// Lost notes what the engine had no room for, by its statistics.
func (x *Export) Lost(s *programpb.ObservationStats) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.engine = ipfix.Counts{Lost: s.GetLostRecords(), LostPackets: s.GetLostPackets(), LostOctets: s.GetLostBytes()}
}

// Counts are what was sent and what was not, by all exporters.
func (x *Export) Counts() ipfix.Counts {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.counts()
}

func (x *Export) counts() ipfix.Counts {
	if x.exporter == nil {
		return x.before
	}
	return sum(x.before, x.exporter.Counts())
}

// Close sends all that waits, and ends.
func (x *Export) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.end()
}

// Bounds of the wait for what an engine still has: it looks at all known flows about once a second, and in several seconds if it gets little of its CPU.
const (
	finishTime = 10 * time.Second // for each time
	finishStep = 50 * time.Millisecond
)

// Finish takes what the engine still has, after packets have stopped, sends all, and ends.
func (x *Export) Finish(ctx context.Context, read Reader) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.exporter == nil {
		return nil
	}
	return errors.Join(x.drain(ctx, read), x.end())
}

// drain reads until the engine has looked at all of its flows.
func (x *Export) drain(ctx context.Context, read Reader) error {
	var first, last uint64
	late := time.NewTimer(finishTime)
	defer late.Stop()
	for i := 0; ; i++ {
		records, err := read(ctx)
		if err != nil {
			return err
		}
		x.send(x.cache.Add(records))
		if i == 0 {
			first, last = records.GetRounds(), records.GetRounds()
		} else if records.GetRounds() > last {
			last = records.GetRounds()
			late.Reset(finishTime)
		}
		switch {
		case records.GetMore():
			continue
		case last >= first+2:
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the engine's last flows: %w", ctx.Err())
		case <-late.C:
			return fmt.Errorf("the engine's last flows: it has not looked at all of them within %s", finishTime)
		case <-time.After(finishStep):
		}
	}
}

// wanted is what a program exports; nil: nothing.
func wanted(p *programpb.Program) *programpb.FlowExport {
	for _, o := range p.GetObservations() {
		return o.GetExport()
	}
	return nil
}

// follow has there be an exporter as it is wanted. Flows are reported to the collector that was wanted when they passed.
func (x *Export) follow(ctx context.Context, want *programpb.FlowExport) error {
	if proto.Equal(want, x.wants) && (want == nil) == (x.exporter == nil) {
		return nil
	}
	if err := x.end(); err != nil {
		return err
	}
	if want == nil {
		return nil
	}
	exporter, err := ipfix.Dial(ctx, ipfix.Config{
		Collector: netip.AddrPortFrom(addressOf(want.GetCollector()), uint16(want.GetPort())), Domain: domain, Templates: templates,
		About: func() []ipfix.Record { return about(want.GetSampling(), x.lost.Load()) },
	})
	if err != nil {
		return err
	}
	x.wants, x.exporter = want, exporter
	x.cache = Cache{
		Active: time.Duration(want.GetActiveMs()) * time.Millisecond, Idle: time.Duration(want.GetIdleMs()) * time.Millisecond, Max: MaxFlows,
	}
	return nil
}

func (x *Export) end() error {
	if x.exporter == nil {
		return nil
	}
	for x.cache.Len() > 0 {
		most := min(mostDue, x.exporter.Room())
		if most == 0 {
			time.Sleep(time.Millisecond) // it never waits long: datagrams go or are refused
		}
		x.send(x.cache.All(most))
	}
	err := x.exporter.Close()
	x.before = sum(x.before, x.exporter.Counts())
	x.wants, x.exporter = nil, nil
	return err
}

func (x *Export) send(list []*Flow) {
	for _, f := range list {
		x.exporter.Send(record(f))
	}
}

func sum(a, b ipfix.Counts) ipfix.Counts {
	return ipfix.Counts{
		Records: a.Records + b.Records, Messages: a.Messages + b.Messages,
		Lost: a.Lost + b.Lost, LostPackets: a.LostPackets + b.LostPackets, LostOctets: a.LostOctets + b.LostOctets,
	}
}
