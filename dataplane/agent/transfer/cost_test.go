package transfer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// recorder keeps the chunks that were read.
type recorder struct {
	Giver
	chunks [][]byte
}

func (r *recorder) GiveShards(ctx context.Context, g *controlpb.GiveShards) (*controlpb.Given, error) {
	given, err := r.Giver.GiveShards(ctx, g)
	r.chunks = append(r.chunks, given.GetSessions())
	return given, err
}

// sessions are those that were read, but for their ages.
func (r *recorder) sessions() map[string]bool {
	sessions := map[string]bool{}
	for _, chunk := range r.chunks {
		for session := range slices.Chunk(chunk, 48) { // as TakeShards has it: the age is in the middle
			sessions[string(session[:24])+string(session[32:])] = true
		}
	}
	return sessions
}

// stopwatch is how long agents waited for their engines' steps.
type stopwatch struct {
	mu   sync.Mutex
	took map[string]time.Duration
}

func (w *stopwatch) start(step fmt.Stringer) (stop func()) {
	began := time.Now()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.took[step.String()] += time.Since(began)
	}
}

// lap reads the watch and sets it to zero.
func (w *stopwatch) lap() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var steps []string
	for _, step := range slices.Sorted(maps.Keys(w.took)) {
		steps = append(steps, fmt.Sprintf("%s %s", step, w.took[step].Round(100*time.Microsecond)))
	}
	w.took = map[string]time.Duration{}
	return strings.Join(steps, ", ")
}

type timedGiver struct {
	Giver
	*stopwatch
}

func (g timedGiver) GiveShards(ctx context.Context, m *controlpb.GiveShards) (*controlpb.Given, error) {
	defer g.start(m.GetStep())()
	return g.Giver.GiveShards(ctx, m)
}

type timedTaker struct {
	Taker
	*stopwatch
}

func (k timedTaker) TakeShards(ctx context.Context, m *controlpb.TakeShards) (*controlpb.Taken, error) {
	defer k.start(m.GetStep())()
	return k.Taker.TakeShards(ctx, m)
}

// processorTime is what agents and engines' control threads have used: on a machine that others use, too, the clock says less.
func processorTime(t *testing.T, engines ...*engine) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	sum := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	for _, e := range engines {
		s, err := e.proc().Schedstat() // of the main thread, which is the control thread
		if err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(s.RunningNanoseconds)
	}
	return sum
}

// othersTime is what the machine's processors did for others than this test, and those in whose place this machine runs.
func othersTime(t *testing.T, engines ...*engine) time.Duration {
	t.Helper()
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		t.Fatal(err)
	}
	s, err := fs.Stat()
	if err != nil {
		t.Fatal(err)
	}
	c := s.CPUTotal
	sum := c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			t.Fatal(err)
		}
		sum -= float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	for _, e := range engines {
		s, err := e.proc().Stat()
		if err != nil {
			t.Fatal(err)
		}
		sum -= s.CPUTime()
	}
	return time.Duration(sum * 1e9)
}

// crowded is the part of a processor from which on others are said to use the machine, too.
const crowded = 0.1

func TestAHundredThousandSessionsMoveBetweenTwoProcessesUnchanged(t *testing.T) {
	const (
		flows  = 100_000
		rounds = 5 // there and back
	)
	id := identity(t, "a secret")
	a := startEngine(t, all(), id.ShardKey(), capture(t, flows, 1), "--memory", "256", "--buffers", "16383")
	b := startEngine(t, shard.Set{}, id.ShardKey(), "", small...)
	a.await(flows)
	watch := &stopwatch{took: map[string]time.Duration{}}
	agents := map[*engine]*agent{a: newAgent(t, timedTaker{a, watch}, id), b: newAgent(t, timedTaker{b, watch}, id)}
	var sent []map[string]bool
	move := func(from, to *engine, record bool) (waited, processor time.Duration) {
		r := &recorder{Giver: timedGiver{from, watch}}
		used := processorTime(t, a, b)
		report, err := mover(r, id).Give(t.Context(), all(), Peer{"edge-1", agents[to].address})
		if err != nil {
			t.Fatal(err)
		}
		used = processorTime(t, a, b) - used
		if got := report.Sessions; got != flows || to.sessions() != flows || from.sessions() != 0 {
			t.Fatalf("%d sessions went, the giver has %d, the taker %d, want all %d there", got, from.sessions(), to.sessions(), flows)
		}
		if record {
			sent = append(sent, r.sessions())
		}
		t.Logf("packets waited %s, processors worked %s (%s)", report.Blocked.Round(100*time.Microsecond), used.Round(100*time.Microsecond), watch.lap())
		return report.Blocked, used
	}
	var waited, processor [2][]time.Duration // to an engine whose memory is new, and back
	began, others := time.Now(), othersTime(t, a, b)
	for round := range rounds {
		if round > 0 {
			b.restart(shard.Set{})
		}
		for i, way := range [2][2]*engine{{a, b}, {b, a}} {
			w, p := move(way[0], way[1], round == 0 && i == 0 || round == rounds-1 && i == 1)
			waited[i], processor[i] = append(waited[i], w), append(processor[i], p)
		}
	}
	share := float64(othersTime(t, a, b)-others) / float64(time.Since(began))
	if len(sent[0]) != flows || !maps.Equal(sent[0], sent[1]) {
		t.Fatalf("%d different sessions went, %d came, want the same %d", len(sent[0]), len(sent[1]), flows)
	}
	judge(t, waited, processor, share)
}

// judge tells whether packets waited, and processors worked, for too long: to an engine whose memory is new, and back; share is what others used.
func judge(t *testing.T, waited, processor [2][]time.Duration, share float64) {
	t.Helper()
	const bound = 50 * time.Millisecond
	for i, memory := range [2]string{"new", "known"} {
		slices.Sort(waited[i])
		slices.Sort(processor[i])
		w, p := waited[i][len(waited[i])/2], processor[i][len(processor[i])/2]
		t.Logf("memory that is %s: packets waited %s, processors worked %s (medians); others used %.2f processors", memory, w, p, share)
		most := 2 * bound // there are two
		if share >= crowded {
			most *= 3 // an engine that shares its caches works for longer
		}
		if p > most {
			t.Errorf("memory that is %s: processors worked for %s, want %s at most", memory, p, most)
		}
		// Not all that others do is seen: share has been less than 0 beside other tests, of which packets waited a little longer.
		if w > 2*bound && share < crowded {
			t.Errorf("memory that is %s: packets waited for %s, want %s at most, or twice that beside others", memory, w, bound)
		}
	}
}
