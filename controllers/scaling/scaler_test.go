package scaling

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/load"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// chain is a world of one group with 128 shards.
func chain(t reporter, b Bounds, total float64) *world {
	return newWorld(t, b, shardsOf("all", 128), total)
}

// onePod is a pod of 1 to n cores.
func onePod(n int) Bounds {
	return Bounds{MinPods: 1, MaxPods: 1, MinCores: 1, MaxCores: n, Target: 0.7}
}

// manyPods are up to n pods of up to 2 cores.
func manyPods(n int) Bounds {
	return Bounds{MinPods: 1, MaxPods: n, MinCores: 1, MaxCores: 2, Target: 0.7}
}

func TestAStepOfLoadIsBorneByASecondCoreWithinASecondOfBeingSeen(t *testing.T) {
	for _, phase := range []int{1, 5, 9} { // of the step within the operator's second
		t.Run(fmt.Sprintf("step %d00 ms after a decision", phase), func(t *testing.T) {
			w := chain(t, onePod(2), 0.4)
			w.run(10 * time.Second)
			w.ticks(phase)
			w.set(1.3)
			p := w.pods[0]
			step := w.now
			var seen time.Time // by the operator
			for w.now.Sub(step) < 5*time.Second {
				w.agents()
				if w.now.Sub(epoch)%period == 0 {
					if w.operator(); seen.IsZero() {
						seen = w.now
					}
				}
				if slices.Max(w.load(p)) < 0.75 {
					break
				}
			}
			if p.cores != 2 || slices.Max(w.load(p)) >= 0.75 {
				t.Fatalf("%d cores with loads %.2f 5 s after the step", p.cores, w.load(p))
			}
			if took := w.now.Sub(seen); took > time.Second {
				t.Errorf("balanced %s after the load was seen, want at most 1s", took)
			}
			if took := w.now.Sub(step); took > 1500*time.Millisecond {
				t.Errorf("balanced %s after the step, want at most 1.5s", took)
			}
			w.set(0.4)
			w.run(DefaultPolicy.Cores.Window + 3*time.Second)
			if load := w.load(p); p.cores != 1 || load[1] != 0 {
				t.Errorf("%d cores with loads %.2f after the load has fallen, want all on one", p.cores, load)
			}
		})
	}
}

// losing is what is seen of a pod that loses packets although little work is seen, as in microbursts.
func losing(w *world, lost float64) Input {
	p := w.pods[0]
	r := load.Report{At: w.now, Cores: make([]load.Core, w.bounds.MaxCores)}
	for _, shard := range w.shards {
		r.Shards = append(r.Shards, load.Shard{ID: shard, Core: 0, Work: w.work[shard]})
	}
	r.Cores[0] = load.Core{Packets: 1e6, Lost: lost}
	return Input{Now: w.now, Bounds: w.bounds, Shards: w.shards, Pods: []Pod{{Name: p.name, Ready: true, Cores: p.cores, Report: r}}}
}

func TestLostPacketsAreAnAlarm(t *testing.T) {
	t.Run("they lead to growth within a period", func(t *testing.T) {
		w := chain(t, onePod(4), 0.3)
		w.scaler.Decide(losing(w, 0))
		w.now = w.now.Add(period)
		d := w.scaler.Decide(losing(w, 5000))
		if d.Plans[0].Cores != 2 || len(d.Changes) != 1 || d.Changes[0].Reason != PacketsLost {
			t.Fatalf("%d cores, changes %v, want 2 because of PacketsLost", d.Plans[0].Cores, d.Changes)
		}
		if want := "instance edge-0 scales from 1 to 2 working cores: it lost 0.50 % of its packets"; d.Changes[0].Message != want {
			t.Errorf("it says %q, want %q", d.Changes[0].Message, want)
		}
	})
	t.Run("a few of many are none", func(t *testing.T) {
		w := chain(t, onePod(4), 0.3)
		if d := w.scaler.Decide(losing(w, 90)); d.Plans[0].Cores != 1 {
			t.Errorf("%d cores for 90 of a million packets, want 1", d.Plans[0].Cores)
		}
	})
	t.Run("not again before the cool-down is over", func(t *testing.T) {
		w := chain(t, onePod(8), 0.3)
		var grown []time.Time
		cores := 1
		for range 100 {
			w.now = w.now.Add(tick)
			if now := w.scaler.Decide(losing(w, 5000)).Plans[0].Cores; now != cores {
				cores, grown = now, append(grown, w.now)
			}
		}
		for i := 1; i < len(grown); i++ {
			if d := grown[i].Sub(grown[i-1]); d < DefaultPolicy.Cores.CoolDown {
				t.Errorf("growth %s after growth, cool-down is %s", d, DefaultPolicy.Cores.CoolDown)
			}
		}
		if len(grown) != 5 {
			t.Errorf("%d times grown in 10 s of loss, want 5", len(grown))
		}
	})
}

func TestLostPacketsBringAPodWhereNoCoreIsLeftThatHelps(t *testing.T) {
	t.Run("a pod comes when no core is left", func(t *testing.T) {
		w := chain(t, manyPods(2), 0.3)
		for range 20 {
			w.now = w.now.Add(period)
			x := losing(w, 5000)
			x.Pods[0].Cores = 2
			x.Pods[0].Report.Shards[0].Work = 1 // so that there is no room
			if d := w.scaler.Decide(x); d.Pods == 2 {
				if d.Changes[0].Reason != PacketsLost {
					t.Errorf("changes %v, want PacketsLost", d.Changes)
				}
				return
			}
		}
		t.Error("still one pod after 20 s of loss")
	})
	t.Run("a core with nothing but one heavy shard raises none", func(t *testing.T) {
		w := chain(t, onePod(8), 0)
		w.work[w.shards[3]] = 2
		w.run(30 * time.Second)
		if n := w.pods[0].cores; n > 2 {
			t.Errorf("%d cores for one shard that loses packets, want no more than 2", n)
		}
	})
}

func TestAllLoadInOneShard(t *testing.T) {
	w := chain(t, manyPods(4), 0.1)
	w.work[w.shards[17]] = 1.4
	w.flow[w.shards[17]] = load.Flow{Name: "udp 10.0.0.9:4789 > 192.0.2.9:4789", Share: 0.97}
	w.run(time.Minute)
	p := w.pods[0]
	if len(w.pods) != 1 || p.cores != 2 {
		t.Errorf("%d pods, %d cores in the first, want one pod with a core for the elephant and one for all others", len(w.pods), p.cores)
	}
	if mates := slices.DeleteFunc(slices.Clone(w.shards), func(s shard.ID) bool {
		return p.owner[s] != p.owner[w.shards[17]] || w.work[s] < 1e-6
	}); len(mates) > 20 {
		t.Errorf("%d shards share the elephant's core", len(mates))
	}
	d := w.operator()
	if len(d.Findings) == 0 || d.Findings[0].Reason != ShardTooHeavy || !strings.Contains(d.Findings[0].Message, "udp 10.0.0.9:4789 > 192.0.2.9:4789") {
		t.Errorf("findings %v, want the flow to be named", d.Findings)
	}
	moves := w.moves
	w.run(time.Minute)
	if w.moves > moves+2 {
		t.Errorf("%d moves in another minute, though nothing changes", w.moves-moves)
	}
}

func TestASplitCutsAsFewGroupsAsItCan(t *testing.T) {
	for name, tc := range map[string]struct {
		load map[string]float64
		most int // groups on both pods
	}{
		"four groups":                {map[string]float64{"dns": 0.4, "mail": 0.3, "web": 0.6, "video": 0.9}, 1},
		"a group that is just right": {map[string]float64{"dns": 1.1, "mail": 0, "web": 1.12, "video": 0}, 0},
		"a group that is nearly all": {map[string]float64{"dns": 0.1, "mail": 0, "web": 0, "video": 2.1}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			shards := slices.Concat(shardsOf("dns", 32), shardsOf("mail", 32), shardsOf("web", 32), shardsOf("video", 32))
			w := newWorld(t, manyPods(2), shards, 0.6)
			w.run(5 * time.Second)
			for _, shard := range shards {
				w.work[shard] = tc.load[shard.Group] / 32
			}
			w.run(15 * time.Second)
			if len(w.pods) != 2 {
				t.Fatalf("%d pods, want 2", len(w.pods))
			}
			on := map[string]int{}
			for _, p := range w.pods {
				groups := map[string]bool{}
				for shard := range p.owner {
					groups[shard.Group] = true
				}
				for group := range groups {
					on[group]++
				}
				if load := sum(w.load(p)); load < 1 || load > 1.3 {
					t.Errorf("%s has %.2f cores of work, want about half of 2.2", p.name, load)
				}
			}
			both := 0
			for _, n := range on {
				both += n - 1
			}
			if both > tc.most {
				t.Errorf("%d groups are on both pods, want at most %d", both, tc.most)
			}
		})
	}
}

func TestWhoBeginsGivesNothingUpBeforeAWindowIsFull(t *testing.T) {
	w := chain(t, onePod(4), 0.3)
	w.pods[0].cores = 4
	w.run(DefaultPolicy.Cores.Window - 2*time.Second)
	if n := w.pods[0].cores; n != 4 {
		t.Errorf("%d cores before the window is full, want the 4 that were found", n)
	}
	w.run(4 * time.Second)
	if n := w.pods[0].cores; n != 1 {
		t.Errorf("%d cores after the window, want 1", n)
	}
}

func TestShardsThatAreHeldGoOnlyFromWhereNobodyWorks(t *testing.T) {
	loads := func(shards []shard.ID, work float64) (list []load.Shard) {
		for _, s := range shards {
			list = append(list, load.Shard{ID: s, Work: work})
		}
		return list
	}
	all := shardsOf("g", 12)
	in := Input{
		Now: epoch, Bounds: Bounds{MinPods: 3, MaxPods: 3, MinCores: 1, MaxCores: 1, Target: 0.7}, Shards: all, Hold: true,
		Pods: []Pod{
			{Name: "much", Ready: true, Cores: 1, Report: load.Report{Shards: loads(all[:8], 0.1)}},
			{Name: "lost", Report: load.Report{Shards: loads(all[8:10], 0.1)}}, // and two that nobody has
			{Name: "new", Ready: true, Cores: 1},
		},
	}
	s := NewScaler(DefaultPolicy)
	for _, h := range s.Decide(in).Handovers {
		if h.From == "much" || h.Shard.Number < 8 {
			t.Errorf("%+v: shards leave a pod that works", h)
		}
	}
	if n := len(s.Decide(in).Handovers); n != 4 {
		t.Errorf("%d shards change hands, want the 4 that nobody works on", n)
	}
	in.Hold = false
	if n := len(s.Decide(in).Handovers); n <= 4 {
		t.Errorf("%d shards change hands, want the new pod to get some of the others, too", n)
	}
}

func TestWhatIsAtItsMostSaysSo(t *testing.T) {
	w := chain(t, onePod(2), 3)
	w.run(10 * time.Second)
	d := w.operator()
	if len(d.Findings) != 1 || d.Findings[0].Reason != AtMaximum || !strings.Contains(d.Findings[0].Message, "works with 2 of 2 cores, and its load exceeds the target of 70 %") {
		t.Errorf("findings %v, want AtMaximum", d.Findings)
	}
}

func TestAReportThatIsTooOldLetsNothingFall(t *testing.T) {
	w := chain(t, onePod(2), 1.2)
	w.run(5 * time.Second)
	w.set(0.1)
	w.ticks(5)
	p := w.pods[0]
	in := Input{Bounds: w.bounds, Shards: w.shards, Pods: []Pod{{Name: p.name, Ready: true, Cores: p.cores, Report: p.balancer.Report()}}}
	for in.Now = w.now.Add(DefaultPolicy.Stale + time.Second); in.Now.Before(w.now.Add(2 * DefaultPolicy.Stale)); in.Now = in.Now.Add(time.Second) {
		if d := w.scaler.Decide(in); d.Plans[0].Cores != 2 {
			t.Fatalf("%d cores by a report that is %s old", d.Plans[0].Cores, in.Now.Sub(in.Pods[0].Report.At))
		}
	}
}

func TestNewBoundsHoldAtOnce(t *testing.T) {
	w := chain(t, onePod(4), 2.2)
	w.run(5 * time.Second)
	if w.pods[0].cores != 4 {
		t.Fatalf("%d cores, want 4", w.pods[0].cores)
	}
	in := Input{Now: w.now, Bounds: onePod(2), Shards: w.shards, Pods: []Pod{{Name: "edge-0", Ready: true, Cores: 4, Report: w.pods[0].balancer.Report()}}}
	d := w.scaler.Decide(in)
	if d.Plans[0].Cores != 2 || d.Changes[0].Reason != SpecChanged {
		t.Errorf("%d cores, changes %v, want 2 because of the spec", d.Plans[0].Cores, d.Changes)
	}
}

// The operator makes what the spec asks for. Until the scaler said the same, it took these instances away again, and made them again.
func TestMoreInstancesThatTheSpecAsksForAreWantedAtOnce(t *testing.T) {
	w := chain(t, Bounds{MinPods: 2, MaxPods: 2, MinCores: 1, MaxCores: 1, Target: 0.7}, 0.3)
	w.run(5 * time.Second)
	w.bounds.MinPods, w.bounds.MaxPods = 3, 4
	d := w.operator()
	if want := "the chain scales from 2 to 3 instances of 1 cores: the spec asks for 3 to 4"; d.Pods != 3 || len(d.Changes) != 1 || d.Changes[0].Message != want {
		t.Errorf("%d instances, changes %v, want 3: %q", d.Pods, d.Changes, want)
	}
	for _, p := range d.Plans {
		if p.Drain {
			t.Errorf("%s is to go", p.Pod)
		}
	}
}

func TestCoresAreNeededForWhatTheyDoBesideShards(t *testing.T) {
	for name, c := range map[string]struct {
		work   float64
		others []float64
		most   int
		want   int
	}{
		"shards alone": {1.2, nil, 4, 2},
		"a core that receives for the others has less room":  {1.2, []float64{0.3, 0}, 4, 3},
		"but as much as is left":                             {1.0, []float64{0.3, 0}, 4, 2},
		"a core that does nothing else is no reason for all": {0.5, []float64{0.95}, 4, 2},
		"no shard has work: more cores are of no use":        {0.01, []float64{0.95}, 4, 1},
	} {
		works := slices.Repeat([]float64{c.work / 128}, 128)
		if got := need(works, c.others, 0.7, c.most); got != c.want {
			t.Errorf("%s: %d cores for %.2f beside %v, want %d", name, got, c.work, c.others, c.want)
		}
	}
}

func TestMoreCoresThatTheSpecAsksForAreNotTheLoads(t *testing.T) {
	w := chain(t, onePod(4), 0.3)
	in := Input{Now: w.now, Bounds: onePod(4), Shards: w.shards, Pods: []Pod{{Name: "edge-0", Ready: true, Cores: 1, Report: w.pods[0].balancer.Report()}}}
	in.Bounds.MinCores = 3
	d := w.scaler.Decide(in)
	if want := "instance edge-0 scales from 1 to 3 working cores: the spec asks for 3 to 4"; d.Plans[0].Cores != 3 || len(d.Changes) != 1 || d.Changes[0].Message != want {
		t.Errorf("%d cores, changes %v, want 3: %q", d.Plans[0].Cores, d.Changes, want)
	}
}

func TestWhoDecidesAtReportsAndWhenToldToDecidesAsWhoDoesEverySecond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seldom, often := chain(t, onePod(4), 0), chain(t, onePod(4), 0)
		var r load.Report
		due, calls := epoch, 0
		cores := [2]int{1, 1}
		changed := [2][]string{}
		for second := range 300 {
			now := epoch.Add(time.Duration(second) * time.Second)
			fresh := second == 0 || rapid.IntRange(0, 19).Draw(t, "report") == 0
			if fresh {
				seldom.set(rapid.SampledFrom([]float64{0.1, 0.4, 0.6, 0.9, 1.5, 2.5, 4}).Draw(t, "load"))
				r = load.Report{At: now}
				for _, shard := range seldom.shards {
					r.Shards = append(r.Shards, load.Shard{ID: shard, Work: seldom.work[shard]})
				}
			}
			decide := func(who int, w *world) Decision {
				d := w.scaler.Decide(Input{Now: now, Bounds: w.bounds, Shards: w.shards, Pods: []Pod{{Name: "edge-0", Ready: true, Cores: cores[who], Report: r}}})
				if n := d.Plans[0].Cores; n != cores[who] {
					changed[who] = append(changed[who], fmt.Sprintf("%d at %d s", n, second))
					cores[who] = n
				}
				return d
			}
			decide(1, often)
			if fresh || !due.IsZero() && !now.Before(due) {
				calls++
				due = time.Time{}
				if d := decide(0, seldom); d.Again > 0 {
					due = now.Add(d.Again + time.Second - 1).Truncate(time.Second)
				}
			}
			if cores[0] != cores[1] {
				t.Fatalf("after %d s %d cores, who decides every second has %d: %v, %v", second, cores[0], cores[1], changed[0], changed[1])
			}
		}
		if calls > 200 {
			t.Errorf("%d decisions in 300 s", calls)
		}
	})
}

func TestAFallThatIsTakenBackIsWaitedForLonger(t *testing.T) {
	w := chain(t, onePod(2), 1.2)
	var falls []time.Duration
	for range 4 {
		w.set(1.2)
		w.run(3 * time.Second)
		w.set(0.4)
		began := w.now
		for w.pods[0].cores == 2 && w.now.Sub(began) < 5*time.Minute {
			w.run(period)
		}
		falls = append(falls, w.now.Sub(began).Round(time.Second))
	}
	base := DefaultPolicy.Cores.Window
	for i, fall := range falls {
		if want := base << i; fall < want || fall > want+4*time.Second {
			t.Errorf("fall %d came %s after the load fell, want about %s", i+1, fall, want)
		}
	}
}

func TestBoundsOfASpec(t *testing.T) {
	for name, tc := range map[string]struct {
		spec v1alpha1.Scaling
		want Bounds
	}{
		"all said": {
			v1alpha1.Scaling{Instances: 3, MinCores: 2, MaxCores: 4, TargetUtilization: 60},
			Bounds{MinPods: 3, MaxPods: 3, MinCores: 2, MaxCores: 4, Target: 0.6},
		},
		"more instances": {
			v1alpha1.Scaling{Instances: 2, MaxInstances: 5, NodeFailures: 1, TargetUtilization: 70},
			Bounds{MinPods: 2, MaxPods: 5, MinCores: 1, MaxCores: 1, Target: 0.7, LoseNodes: 1},
		},
		"no most: all cores work all the time": {
			v1alpha1.Scaling{Instances: 1, MinCores: 2, TargetUtilization: 70},
			Bounds{MinPods: 1, MaxPods: 1, MinCores: 2, MaxCores: 2, Target: 0.7},
		},
		"nothing said": {v1alpha1.Scaling{}, Bounds{MinPods: 1, MaxPods: 1, MinCores: 1, MaxCores: 1, Target: 0.7}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := BoundsOf(&tc.spec); got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}
