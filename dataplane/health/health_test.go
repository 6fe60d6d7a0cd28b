package health

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// balanced is a program with a load balancer "lb" of backends 10.0.0.1 and on, with weights. They are checked at port 80 unless change says otherwise.
func balanced(weights []uint32, change func(*programpb.Balancer)) *programpb.Program {
	b := &programpb.Balancer{Check: &programpb.HealthCheck{Port: 80, IntervalMs: 10, TimeoutMs: 1000, Unhealthy: 3, Healthy: 2}}
	for i, w := range weights {
		b.Backends = append(b.Backends, &programpb.Backend{Address: 0x0a000001 + uint32(i), Weight: w})
	}
	if change != nil {
		change(b)
	}
	return &programpb.Program{Tables: []*programpb.StateTable{{Name: "nat"}, {Name: "lb", Balancer: b}}}
}

func slowly(b *programpb.Balancer) { b.SlowStartMs = 10_000 }

// said is what the engine would be told: "1:4 2:down", by the last byte of the address.
func (r roster) said(now time.Time) string {
	var list []string
	for _, s := range r.states(now) {
		what := fmt.Sprint(s.GetWeight())
		if s.GetDown() {
			what = "down"
		}
		list = append(list, fmt.Sprintf("%d:%s", s.GetAddress()&255, what))
	}
	return strings.Join(list, " ")
}

func (r roster) last(n byte) *backend {
	for at, b := range r {
		if at.Backend.Addr().As4()[3] == n {
			return b
		}
	}
	return nil
}

func TestABackendIsDownAfterAsManyFailuresInARow(t *testing.T) {
	now := time.Unix(1000, 0)
	r := roster{}.of(balanced([]uint32{1, 1}, nil), now)
	b := r.last(2)
	for i, k := range []struct {
		ok, changes bool
		says        string
	}{
		{false, false, ""},
		{false, false, ""},
		{true, false, ""}, // in a row
		{false, false, ""},
		{false, false, ""},
		{false, true, "2:down"},
		{false, false, "2:down"},
		{true, false, "2:down"},
		{false, false, "2:down"},
		{true, false, "2:down"},
		{true, true, ""},
	} {
		if got := b.heard(k.ok, now); got != k.changes || r.said(now) != k.says {
			t.Errorf("check %d: changed %t, the engine is told %q, want %t and %q", i, got, r.said(now), k.changes, k.says)
		}
	}
}

func TestABackendThatComesBackStartsSlowly(t *testing.T) {
	now := time.Unix(1000, 0)
	r := roster{}.of(balanced([]uint32{2, 1}, slowly), now)
	if got := r.said(now); got != "" {
		t.Errorf("of the first program the engine is told %q, want nothing", got)
	}
	b := r.last(2)
	for range 3 {
		b.heard(false, now)
	}
	for range 2 {
		b.heard(true, now)
	}
	for after, want := range map[time.Duration]string{
		0: "1:256 2:12", 999 * time.Millisecond: "1:256 2:12", time.Second: "1:256 2:25", 5 * time.Second: "1:256 2:76", 9 * time.Second: "", time.Minute: "",
	} {
		if got := r.said(now.Add(after)); got != want {
			t.Errorf("after %s the engine is told %q, want %q", after, got, want)
		}
	}
}

func TestIfNoBackendServesNoneIsDown(t *testing.T) {
	now := time.Unix(1000, 0)
	r := roster{}.of(balanced([]uint32{1, 1, 0}, nil), now)
	fails := func(n byte) {
		for range 3 {
			r.last(n).heard(false, now)
		}
	}
	fails(1)
	if got := r.said(now); got != "1:down" {
		t.Errorf("the engine is told %q, want the first one down", got)
	}
	fails(2)
	if got := r.said(now); got != "" {
		t.Errorf("the engine is told %q, want nothing: only the drained one is up", got)
	}
	for range 2 {
		r.last(2).heard(true, now)
	}
	if got := r.said(now); got != "1:down" {
		t.Errorf("the second one is up again, and the engine is told %q, want the first one down", got)
	}
}

func TestBackendsKeepWhatIsKnownOfThemInTheNextProgram(t *testing.T) {
	now := time.Unix(1000, 0)
	r := roster{}.of(balanced([]uint32{1, 1}, slowly), now)
	for range 3 {
		r.last(1).heard(false, now)
	}
	r = r.of(balanced([]uint32{1, 1, 1}, slowly), now)
	if got, want := r.said(now), "1:25 2:256 3:25"; strings.Replace(want, "1:25", "1:down", 1) != got {
		t.Errorf("the engine is told %q, want the first one down and the third one to start slowly", got)
	}
	r = r.of(balanced([]uint32{1, 1, 1}, func(b *programpb.Balancer) { b.Check = nil }), now)
	if got := r.said(now); got != "" {
		t.Errorf("without checks the engine is told %q, want nothing", got)
	}
}

func TestNothingIsSaidBeforeEachBackendWasChecked(t *testing.T) {
	now := time.Unix(1000, 0)
	r := roster{}.of(balanced([]uint32{1, 1}, nil), now)
	r.last(1).heard(true, now)
	r.last(2).heard(false, now)
	if r.known() {
		t.Error("a backend that failed once is known")
	}
	for range 2 {
		r.last(2).heard(false, now)
	}
	if !r.known() {
		t.Error("a backend that is down is not known")
	}
}
