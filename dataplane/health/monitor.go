package health

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Pauses between two looks at what is to be told, and the longest between two times that the engine is told the same: another may be there.
const (
	look  = 100 * time.Millisecond
	again = time.Second
)

// Monitor keeps an engine up to date about the backends of the program that it runs.
type Monitor struct {
	// Program is the one in force; nil: there is none.
	Program func() *programpb.Program
	// Set tells the engine.
	Set func(context.Context, []*programpb.BackendState) error
	// Dial is how backends are reached.
	Dial Dial
	// Say is told what changes, a line each.
	Say func(format string, args ...any)

	roster  roster
	probing map[Target]prober
	results chan result
	told    *programpb.SetBackends // nil: nothing yet
	at      time.Time              // when
	started bool                   // each backend was checked once
	program *programpb.Program

	mu     sync.Mutex
	checks []Condition // of backends that are checked
}

// Condition is what checks have told of a backend.
type Condition struct {
	Target
	Up bool
}

// Conditions are those of all backends that are checked and known, in no order.
func (m *Monitor) Conditions() []Condition {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.checks
}

// note notes the conditions for others.
func (m *Monitor) note() {
	var list []Condition
	for at, b := range m.roster {
		if b.check != nil && b.known {
			list = append(list, Condition{at, !b.down})
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.checks = list
}

// prober checks a target as long as it is not cancelled.
type prober struct {
	check  Check
	cancel context.CancelFunc
}

type result struct {
	target Target
	err    error
}

// Run runs until the context ends.
func (m *Monitor) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m.roster, m.probing, m.results = roster{}, map[Target]prober{}, make(chan result)
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		m.follow(ctx, &group)
		m.note()
		m.tell(ctx, time.Now())
		select {
		case <-ctx.Done():
			return
		case r := <-m.results:
			m.hear(r, time.Now())
		case <-tick.C:
		}
	}
}

// follow has the targets of the program in force checked, and no others.
func (m *Monitor) follow(ctx context.Context, group *sync.WaitGroup) {
	p := m.Program()
	if p == nil || p == m.program {
		return
	}
	m.program = p
	m.roster = m.roster.of(p, time.Now())
	for at, k := range m.probing {
		if b := m.roster[at]; b == nil || b.check == nil || *b.check != k.check {
			k.cancel()
			delete(m.probing, at)
		}
	}
	for at, b := range m.roster {
		if _, ok := m.probing[at]; ok || b.check == nil {
			continue
		}
		on, cancel := context.WithCancel(ctx)
		k := prober{*b.check, cancel}
		m.probing[at] = k
		group.Go(func() { m.probe(on, at, k.check) })
	}
}

// probe checks a target again and again.
func (m *Monitor) probe(ctx context.Context, at Target, c Check) {
	tick := time.NewTicker(c.Interval)
	defer tick.Stop()
	for {
		err := m.Dial.Probe(ctx, c)
		select {
		case <-ctx.Done():
			return
		case m.results <- result{at, err}:
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// hear takes note of a check.
func (m *Monitor) hear(r result, now time.Time) {
	b := m.roster[r.target]
	if b == nil || b.check == nil || !b.heard(r.err == nil, now) {
		return
	}
	if !b.down {
		m.Say("%s: backend %s is up: %d checks of %s succeeded", b.Table, b.Name(), b.check.Healthy, b.check.To)
		return
	}
	m.Say("%s: backend %s is down: %d checks of %s failed, the last one: %v", b.Table, b.Name(), b.check.Unhealthy, b.check.To, r.err)
	if !m.roster.tables(now)[b.Table].serves {
		m.Say("%s: no backend is up that takes new flows: all are used as if they were up", b.Table)
	}
}

// tell tells the engine, if there is news, or it may have been told by another one, or is another one itself. Before each backend was checked
// nothing is known that would be better than what the engine was told before.
func (m *Monitor) tell(ctx context.Context, now time.Time) {
	m.started = m.started || m.program != nil && m.roster.known()
	if !m.started || len(m.roster) == 0 && len(m.told.GetStates()) == 0 {
		return
	}
	say := &programpb.SetBackends{States: m.roster.states(now)}
	if (m.told == nil || proto.Equal(say, m.told)) && now.Sub(m.at) < again {
		return // it was told, or could not be told a moment ago
	}
	if err := m.Set(ctx, say.GetStates()); err != nil {
		if ctx.Err() == nil && m.told != nil {
			m.Say("the engine was not told of backends, which is tried again: %v", err)
		}
		m.told, m.at = nil, now
		return
	}
	m.told, m.at = say, now
}
