package telemetry

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// statusOf is a status at a second of a simulated time.
type statusOf func(second int) v1alpha1.ChainInstanceStatus

// simulate asks a pacer every second, as an agent does, and counts the writes.
func simulate(length time.Duration, status statusOf, write func(second int) bool) (tried int) {
	var p Pacer
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for second := range int(length / time.Second) {
		now := start.Add(time.Duration(second) * time.Second)
		s := status(second)
		s.LastReportTime = metav1.NewTime(now)
		if !p.Due(now, &s, false) {
			continue
		}
		tried++
		if write(second) {
			p.Written(now, &s)
		} else {
			p.Failed(now)
		}
	}
	return tried
}

func TestWritesAreBoundedWhateverTheTrafficDoes(t *testing.T) {
	load := func(percent int32, packets int64) v1alpha1.ChainInstanceStatus {
		return v1alpha1.ChainInstanceStatus{
			AppliedHash: "a", PacketRate: packets, LoadPercent: percent,
			Cores: []v1alpha1.CoreStatus{{LCore: 3, LoadPercent: percent, Packets: packets}},
		}
	}
	always := func(int) bool { return true }
	for name, c := range map[string]struct {
		status      statusOf
		write       func(int) bool
		least, most int // writes in an hour
	}{
		"nothing happens: a heartbeat every five minutes": {
			func(int) v1alpha1.ChainInstanceStatus { return load(0, 0) }, always, 11, 16,
		},
		"even traffic, whose counters grow": {
			func(s int) v1alpha1.ChainInstanceStatus { return load(40+int32(s%5), int64(1_000_000+s%1000)) }, always, 11, 16,
		},
		"traffic that comes and goes every ten seconds: one every ten seconds": {
			func(s int) v1alpha1.ChainInstanceStatus {
				return load(int32(s/10%2)*90, int64(s/10%2)*5_000_000)
			}, always, 300, 361,
		},
		"traffic that comes and goes faster than it can be told: a heartbeat every five minutes": {
			func(s int) v1alpha1.ChainInstanceStatus { return load(int32(s%2)*90, int64(s%2)*5_000_000) }, always, 11, 16,
		},
		"a program that changes every minute: the change, and its numbers once": {
			func(s int) v1alpha1.ChainInstanceStatus {
				st := load(10, 1000)
				st.AppliedHash = string(rune('a' + s/60))
				return st
			}, always, 119, 132,
		},
		"an API server that is down: two a minute": {
			func(int) v1alpha1.ChainInstanceStatus { return load(0, 0) }, func(int) bool { return false }, 50, 66,
		},
		"an engine that comes and goes every second: twelve a minute": {
			func(s int) v1alpha1.ChainInstanceStatus {
				st := load(0, 0)
				st.Conditions = []metav1.Condition{{Type: "Programmed", Reason: string(rune('A' + s%3))}}
				return st
			}, always, 600, 732,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if n := simulate(time.Hour, c.status, c.write); n < c.least || n > c.most {
				t.Errorf("%d writes in an hour, want %d to %d", n, c.least, c.most)
			} else {
				t.Logf("%d writes in an hour: %.1f per second at 1,000 instances", n, float64(n)/3.6)
			}
		})
	}
}

func TestWhatMattersIsWrittenAtOnce(t *testing.T) {
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	was := v1alpha1.ChainInstanceStatus{
		AppliedHash: "a", PacketRate: 100_000, Cores: []v1alpha1.CoreStatus{{LCore: 1, LoadPercent: 50}},
		Groups:    []v1alpha1.GroupStatus{{Name: "all", Work: []int32{0, 100, 60}}},
		Functions: []v1alpha1.FunctionStatus{{Name: "ips", SentRate: 5000, Replicas: []v1alpha1.ReplicaStatus{{Name: "a", SentRate: 2500}, {Name: "b", SentRate: 2500}}}},
	}
	for name, c := range map[string]struct {
		change func(*v1alpha1.ChainInstanceStatus)
		after  time.Duration
		due    bool
	}{
		"another program":                    {func(s *v1alpha1.ChainInstanceStatus) { s.AppliedHash = "b" }, 2 * factPause, true},
		"a condition":                        {func(s *v1alpha1.ChainInstanceStatus) { s.Conditions = []metav1.Condition{{Type: "Programmed"}} }, 2 * factPause, true},
		"another CPU":                        {func(s *v1alpha1.ChainInstanceStatus) { s.Cores = []v1alpha1.CoreStatus{{LCore: 2}} }, 2 * factPause, true},
		"another program, too soon":          {func(s *v1alpha1.ChainInstanceStatus) { s.AppliedHash = "b" }, factPause, false},
		"load that jumps":                    {func(s *v1alpha1.ChainInstanceStatus) { s.Cores[0].LoadPercent = 60 }, numberPause, true},
		"load that jumps, too soon":          {func(s *v1alpha1.ChainInstanceStatus) { s.Cores[0].LoadPercent = 90 }, numberPause - time.Second, false},
		"load that moves a little":           {func(s *v1alpha1.ChainInstanceStatus) { s.Cores[0].LoadPercent = 55 }, time.Minute, false},
		"packets that are lost":              {func(s *v1alpha1.ChainInstanceStatus) { s.LossRate = 500 }, numberPause, true},
		"a few packets that are lost":        {func(s *v1alpha1.ChainInstanceStatus) { s.LossRate = 5 }, time.Minute, false},
		"a tenth more packets":               {func(s *v1alpha1.ChainInstanceStatus) { s.PacketRate = 110_000 }, time.Minute, false},
		"half of the packets are gone":       {func(s *v1alpha1.ChainInstanceStatus) { s.PacketRate = 50_000 }, numberPause, true},
		"shards that want more":              {func(s *v1alpha1.ChainInstanceStatus) { s.Groups[0].Work = []int32{0, 100, 60, 25} }, numberPause, true},
		"shards that want a bit more":        {func(s *v1alpha1.ChainInstanceStatus) { s.Groups[0].Work = []int32{0, 100, 78} }, time.Minute, false},
		"more for a function":                {func(s *v1alpha1.ChainInstanceStatus) { s.Functions[0].SentRate = 6000 }, numberPause, true},
		"more that a function does not take": {func(s *v1alpha1.ChainInstanceStatus) { s.Functions[0].FullRate = 1000 }, numberPause, true},
		"a bit more for a function":          {func(s *v1alpha1.ChainInstanceStatus) { s.Functions[0].SentRate = 5500 }, time.Minute, false},
		"more for a replica": {func(s *v1alpha1.ChainInstanceStatus) {
			s.Functions[0].Replicas[0].SentRate, s.Functions[0].Replicas[1].SentRate = 3000, 2000
		}, numberPause, true},
		"nothing":               {func(*v1alpha1.ChainInstanceStatus) {}, time.Minute, false},
		"nothing, but long ago": {func(*v1alpha1.ChainInstanceStatus) {}, heartbeat * 6 / 5, true},
	} {
		t.Run(name, func(t *testing.T) {
			var p Pacer
			p.Written(start, &was)
			now := was.DeepCopy()
			c.change(now)
			p.Due(start.Add(c.after-lasting), now, false)
			if got := p.Due(start.Add(c.after), now, false); got != c.due {
				t.Errorf("due after %s: %t, want %t", c.after, got, c.due)
			}
		})
	}
}

// A function that came up and goes down within a minute of traffic that comes and goes is told at once: numbers leave facts some of a minute's writes.
func TestAFactIsWrittenAtOnceWhileNumbersMove(t *testing.T) {
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	var p Pacer
	written := 0
	step := func(second int, reason string) (due bool) {
		s := v1alpha1.ChainInstanceStatus{Cores: []v1alpha1.CoreStatus{{LCore: 1, LoadPercent: int32(second/10%2) * 90}}}
		s.Conditions = []metav1.Condition{{Type: "FunctionsUp", Reason: reason}}
		now := at.Add(time.Duration(second) * time.Second)
		if due = p.Due(now, &s, false); due {
			p.Written(now, &s)
			written++
		}
		return due
	}
	for second := range 10 {
		step(second, string(rune('A'+second/3)))
	}
	facts := written
	for second := 10; second < 55; second++ {
		step(second, "D")
	}
	if facts < 3 || written == facts {
		t.Fatalf("%d writes at first and %d then, want facts and numbers", facts, written-facts)
	}
	for second := 55; second < 57; second++ {
		if step(second, "E") {
			return
		}
	}
	t.Errorf("after %d writes in the minute before a fact is not written within two seconds", written)
}

func TestPacketsThatACoreCouldSaveAreToldAtOnceAndWithinTheBounds(t *testing.T) {
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	var p Pacer
	s := v1alpha1.ChainInstanceStatus{AppliedHash: "a"}
	p.Written(start, &s)
	if p.Due(start.Add(factPause), &s, true) {
		t.Errorf("due %s after a write, want a pause that doubles with each", factPause)
	}
	if !p.Due(start.Add(2*factPause), &s, true) {
		t.Errorf("not due %s after a write, though packets are lost", 2*factPause)
	}
	writes := 0
	for step := range 36_000 { // an hour of loss
		if now := start.Add(time.Duration(step) * time.Second / 10); p.Due(now, &s, true) {
			p.Written(now, &s)
			writes++
		}
	}
	if most := maxInMinute - factsAlone; writes > 60*most {
		t.Errorf("%d writes in an hour, want at most %d a minute", writes, most)
	}
}
