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

func TestPodsComeAndGoWithTheLoad(t *testing.T) {
	w := chain(t, manyPods(3), 0.5)
	w.run(10 * time.Second)
	w.set(3.8)
	w.run(10 * time.Second)
	if len(w.pods) != 3 {
		t.Fatalf("%d pods for 3.8 cores of work, want 3 of 2 cores", len(w.pods))
	}
	for _, p := range w.pods {
		if load := sum(w.load(p)); load < 1.1 || load > 1.4 {
			t.Errorf("%s has %.2f cores of work, want about a third of 3.8", p.name, load)
		}
	}
	w.set(0.5)
	w.run(DefaultPolicy.Pods.Window + 10*time.Second)
	if len(w.pods) != 1 || len(w.pods[0].owner) != 128 {
		t.Errorf("%d pods, of which the first owns %d shards, want one with all 128", len(w.pods), len(w.pods[0].owner))
	}
}

func TestAPodGoesOnlyWhenItHasHandedOverItsShards(t *testing.T) {
	s := NewScaler(DefaultPolicy)
	in := Input{Now: epoch, Bounds: manyPods(2), Shards: shardsOf("all", 2), Pods: []Pod{
		{Name: "a", Ready: true, Cores: 1, Report: load.Report{At: epoch, Shards: []load.Shard{{ID: shard.ID{Group: "all"}, Work: 0.1}}}},
		{Name: "b", Ready: true, Cores: 1, Report: load.Report{At: epoch, Shards: []load.Shard{{ID: shard.ID{Group: "all", Number: 1}, Work: 0.1}}}},
	}}
	var d Decision
	for range 121 {
		in.Now = in.Now.Add(time.Second)
		d = s.Decide(in)
	}
	if want := (Handover{shard.ID{Group: "all", Number: 1}, "b", "a"}); d.Pods != 2 || !d.Plans[1].Drain || len(d.Handovers) != 1 || d.Handovers[0] != want {
		t.Fatalf("while b has a shard: %d pods, %+v, handovers %v, want it to be kept and drained", d.Pods, d.Plans[1], d.Handovers)
	}
	in.Pods[0].Report.Shards, in.Pods[1].Report.Shards = append(in.Pods[0].Report.Shards, in.Pods[1].Report.Shards...), nil
	if d = s.Decide(in); d.Pods != 1 {
		t.Errorf("%d pods when b has no shard any more, want 1", d.Pods)
	}
}

func TestLostPacketsAreAnAlarm(t *testing.T) {
	// Little work is seen, as in microbursts.
	in := func(w *world, lost float64) Input {
		p := w.pods[0]
		r := load.Report{At: w.now, Cores: make([]load.Core, w.bounds.MaxCores)}
		for _, shard := range w.shards {
			r.Shards = append(r.Shards, load.Shard{ID: shard, Core: 0, Work: w.work[shard]})
		}
		r.Cores[0] = load.Core{Packets: 1e6, Lost: lost}
		return Input{Now: w.now, Bounds: w.bounds, Shards: w.shards, Pods: []Pod{{Name: p.name, Ready: true, Cores: p.cores, Report: r}}}
	}
	t.Run("they lead to growth within a period", func(t *testing.T) {
		w := chain(t, onePod(4), 0.3)
		w.scaler.Decide(in(w, 0))
		w.now = w.now.Add(period)
		d := w.scaler.Decide(in(w, 5000))
		if d.Plans[0].Cores != 2 || len(d.Changes) != 1 || d.Changes[0].Reason != PacketsLost {
			t.Fatalf("%d cores, changes %v, want 2 because of PacketsLost", d.Plans[0].Cores, d.Changes)
		}
		if want := "instance edge-0 goes from 1 to 2 working cores: it lost 0.50 % of its packets"; d.Changes[0].Message != want {
			t.Errorf("it says %q, want %q", d.Changes[0].Message, want)
		}
	})
	t.Run("a few of many are none", func(t *testing.T) {
		w := chain(t, onePod(4), 0.3)
		if d := w.scaler.Decide(in(w, 90)); d.Plans[0].Cores != 1 {
			t.Errorf("%d cores for 90 of a million packets, want 1", d.Plans[0].Cores)
		}
	})
	t.Run("not again before the cool-down is over", func(t *testing.T) {
		w := chain(t, onePod(8), 0.3)
		var grown []time.Time
		cores := 1
		for range 100 {
			w.now = w.now.Add(tick)
			if now := w.scaler.Decide(in(w, 5000)).Plans[0].Cores; now != cores {
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
	t.Run("a pod comes when no core is left", func(t *testing.T) {
		w := chain(t, manyPods(2), 0.3)
		for range 20 {
			w.now = w.now.Add(period)
			x := in(w, 5000)
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

func TestShardsOfALostPodDoNotHoldOthersUp(t *testing.T) {
	all := shardsOf("g", 64)
	loads := func(shards []shard.ID) (list []load.Shard) {
		for _, s := range shards {
			list = append(list, load.Shard{ID: s, Work: 0.02})
		}
		return list
	}
	in := Input{
		Now: epoch, Bounds: Bounds{MinPods: 3, MaxPods: 3, MinCores: 1, MaxCores: 1, Target: 0.7}, Shards: all,
		Pods: []Pod{
			{Name: "much", Ready: true, Cores: 1, Report: load.Report{Shards: loads(all[:40])}},
			{Name: "lost", Report: load.Report{Shards: loads(all[40:])}},
			{Name: "new", Ready: true, Cores: 1},
		},
	}
	by := map[string]int{}
	for _, h := range NewScaler(DefaultPolicy).Decide(in).Handovers {
		by[h.From]++
	}
	if by["lost"] != 24 || by["much"] == 0 || by["much"] > DefaultPolicy.Handovers {
		t.Errorf("handovers are %v, want all 24 of the pod that is lost, and at most %d of the one that has too much", by, DefaultPolicy.Handovers)
	}
}

func TestNothingIsDrainedWhileAPodIsMissing(t *testing.T) {
	b := manyPods(2)
	b.MinPods = 2
	in := Input{Now: epoch, Bounds: b, Shards: shardsOf("web", 3)}
	for i, shard := range in.Shards {
		in.Pods = append(in.Pods, Pod{Name: fmt.Sprint("edge-", i), Ready: i != 0, Cores: 1, Report: load.Report{At: epoch, Shards: []load.Shard{{ID: shard, Work: 0.1}}}})
	}
	d := NewScaler(DefaultPolicy).Decide(in)
	if d.Plans[2].Drain || d.Pods != 3 {
		t.Errorf("edge-2 drains: %t, %d pods are to be there, want it to stay while edge-0 is not ready", d.Plans[2].Drain, d.Pods)
	}
	in.Pods[0].Ready = true
	if d = NewScaler(DefaultPolicy).Decide(in); !d.Plans[2].Drain {
		t.Error("edge-2 is one too many, but does not drain")
	}
}

func TestADrainedPodsShardsGoToWhereTheirGroupIs(t *testing.T) {
	on := func(name string, list ...shard.ID) Pod {
		p := Pod{Name: name, Ready: true, Cores: 1, Report: load.Report{At: epoch}}
		for _, shard := range list {
			work := map[string]float64{"dns": 0.05, "web": 0.01}[shard.Group] // the pod with dns is not the idlest
			p.Report.Shards = append(p.Report.Shards, load.Shard{ID: shard, Work: work})
		}
		return p
	}
	dns, web := shardsOf("dns", 8), shardsOf("web", 8)
	in := Input{Now: epoch, Bounds: manyPods(3), Shards: append(dns, web...), Pods: []Pod{
		on("a", web[:6]...), on("b", dns[:4]...), on("c", web[6], dns[4], web[7], dns[5], dns[6], dns[7]),
	}}
	in.Bounds.MinPods, in.Bounds.MaxPods = 2, 2 // c goes
	handovers := NewScaler(DefaultPolicy).Decide(in).Handovers
	if len(handovers) != 6 {
		t.Errorf("%d handovers, want all 6 shards of c", len(handovers))
	}
	for _, h := range handovers {
		if want := map[string]string{"dns": "b", "web": "a"}[h.Shard.Group]; h.From != "c" || h.To != want {
			t.Errorf("%s goes from %s to %s, want c to %s, which has the group", h.Shard, h.From, h.To, want)
		}
	}
}

func TestAPodIsDrainedShardByShard(t *testing.T) {
	b := manyPods(2)
	w := chain(t, b, 2.2)
	w.run(20 * time.Second)
	if len(w.pods) != 2 {
		t.Fatalf("%d pods, want 2", len(w.pods))
	}
	w.set(0.5)
	for range 300 {
		w.ticks(10)
		if d := w.operator(); len(d.Handovers) > DefaultPolicy.Handovers {
			t.Fatalf("%d handovers at a time, want at most %d", len(d.Handovers), DefaultPolicy.Handovers)
		}
	}
	if len(w.pods) != 1 {
		t.Errorf("%d pods are left, want 1", len(w.pods))
	}
}

func TestSeveralPodsAreGivenUpOneAfterTheOther(t *testing.T) {
	w := chain(t, manyPods(3), 3.8)
	w.run(20 * time.Second)
	if len(w.pods) != 3 {
		t.Fatalf("%d pods, want 3", len(w.pods))
	}
	w.set(0.5)
	w.run(3 * time.Minute)
	if len(w.pods) != 1 || w.made != 3 {
		t.Errorf("%d pods are left and %d were made, want the first of three to be left, and none made anew", len(w.pods), w.made)
	}
}

func TestThePodsThatAreLeftBearTheLossOfANode(t *testing.T) {
	b := manyPods(6)
	b.LoseNodes = 1
	w := chain(t, b, 2.4) // two pods of 2 cores would do at 60 %
	w.run(20 * time.Second)
	if len(w.pods) != 3 {
		t.Fatalf("%d pods for 2.4 cores of work, want 3: two must bear it alone", len(w.pods))
	}
	lost := len(w.pods[1].owner)
	w.pods[1].ready = false
	d := w.operator()
	if len(d.Handovers) < lost || len(w.pods[1].owner) != 0 {
		t.Errorf("%d shards are moved and %d stay with the pod that is lost, want %d and 0", len(d.Handovers), len(w.pods[1].owner), lost)
	}
	w.run(3 * time.Second)
	for _, i := range []int{0, 2} {
		if load := w.load(w.pods[i]); slices.Max(load) > 1 {
			t.Errorf("%s has loads %.2f without the lost pod, want at most 1", w.pods[i].name, load)
		}
	}
	t.Run("pods on one node are lost together", func(t *testing.T) {
		w := chain(t, b, 2.4)
		w.pods[0].node = "n1" // where the next one comes to
		w.run(20 * time.Second)
		if len(w.pods) != 4 {
			t.Errorf("%d pods, want 4: two of them are on one node", len(w.pods))
		}
	})
	t.Run("it is said when the bounds do not allow it", func(t *testing.T) {
		b := b
		b.MaxPods = 2
		w := chain(t, b, 2.4)
		w.run(20 * time.Second)
		if d := w.operator(); len(d.Findings) != 1 || d.Findings[0].Reason != HeadroomLacking {
			t.Errorf("findings %v, want HeadroomLacking", d.Findings)
		}
	})
}

func TestAPodIsNotOrderedForOneReport(t *testing.T) {
	for name, tc := range map[string]struct {
		reports, pods int
	}{
		"one": {1, 1},
		"two": {2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := chain(t, manyPods(2), 1.2)
			w.run(5 * time.Second)
			w.set(1.8) // of which two cores lose nothing
			w.ticks(9)
			for range tc.reports {
				w.ticks(1)
				w.operator()
				w.ticks(9)
			}
			w.set(1.2)
			w.ticks(10)
			w.operator()
			if len(w.pods) != tc.pods {
				t.Errorf("%d pods after %d reports of load for two, want %d", len(w.pods), tc.reports, tc.pods)
			}
		})
	}
}

func TestAPodThatLosesPacketsThoughAllItsCoresWorkGivesShardsAway(t *testing.T) {
	b := manyPods(2)
	b.MinPods = 2
	in := Input{Now: epoch, Bounds: b, Shards: shardsOf("web", 8)}
	for i, works := range [][]float64{{0.25, 0.25, 0.25, 0.25}, {0.05, 0.05, 0.05, 0.05}} {
		p := Pod{Name: fmt.Sprint("edge-", i), Ready: true, Cores: 2, Report: load.Report{At: epoch, Cores: []load.Core{{Packets: 1e6}, {Packets: 1e6}}}}
		for k, work := range works {
			p.Report.Shards = append(p.Report.Shards, load.Shard{ID: in.Shards[4*i+k], Core: k % 2, Work: work})
		}
		in.Pods = append(in.Pods, p)
	}
	if d := NewScaler(DefaultPolicy).Decide(in); len(d.Handovers) != 0 {
		t.Errorf("handovers %v, though each pod has less than the target and nothing is lost", d.Handovers)
	}
	in.Pods[0].Report.Cores[1].Lost = 5e3
	if d := NewScaler(DefaultPolicy).Decide(in); len(d.Handovers) == 0 || d.Handovers[0].From != "edge-0" {
		t.Errorf("handovers %v, want some from edge-0, which loses packets", d.Handovers)
	}
}

func TestAPodThatComesBackGetsItsShare(t *testing.T) {
	for _, load := range []float64{1, 1.6} { // that one pod bears below the target, and above
		b := manyPods(2)
		b.MinPods = 2
		w := chain(t, b, load)
		w.run(10 * time.Second)
		w.pods[1].ready = false
		w.run(5 * time.Second)
		if len(w.pods[0].owner) != 128 {
			t.Fatalf("%d shards are with the pod that is left, want 128", len(w.pods[0].owner))
		}
		w.pods[1].ready = true
		w.run(6 * time.Second)
		if got := sum(w.load(w.pods[1])); got < 0.44*load || got > 0.56*load {
			t.Errorf("the pod that came back has %.2f cores of work, want half of %.1f", got, load)
		}
	}
}

func TestWhatIsAtItsMostSaysSo(t *testing.T) {
	w := chain(t, onePod(2), 3)
	w.run(10 * time.Second)
	d := w.operator()
	if len(d.Findings) != 1 || d.Findings[0].Reason != AtMaximum || !strings.Contains(d.Findings[0].Message, "has 2 of 2 cores at work, and its load does not stay below the target of 70 %") {
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
	if want := "instance edge-0 goes from 1 to 3 working cores: the spec asks for 3 to 4"; d.Plans[0].Cores != 3 || len(d.Changes) != 1 || d.Changes[0].Message != want {
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

// Packets for shards of other pods come by the front, which passes them on.
func TestAPodThatPassesOnForOthersHasFewerShardsItself(t *testing.T) {
	const total, passing = 0.8, 0.6 // of what a packet costs where its shard is
	b := Bounds{MinPods: 1, MaxPods: 4, MinCores: 1, MaxCores: 1, Target: 0.7}
	s, all := NewScaler(DefaultPolicy), shardsOf("all", 128)
	owner := map[shard.ID]int{}
	pods, loads := 1, []float64{}
	for now := range 120 {
		in := Input{Now: epoch.Add(time.Duration(now) * time.Second), Bounds: b, Shards: all}
		loads = make([]float64, pods)
		for i := range pods {
			p := Pod{Name: fmt.Sprintf("edge-%d", i), Node: "n", Ready: true, Cores: 1, Report: load.Report{At: in.Now, Cores: make([]load.Core, 1)}}
			for _, shard := range all {
				if owner[shard] == i {
					p.Report.Shards = append(p.Report.Shards, load.Shard{ID: shard, Work: total / 128})
					loads[i] += total / 128
				} else if i == 0 {
					p.Report.Cores[0].Other += passing * total / 128
				}
			}
			loads[i] += p.Report.Cores[0].Other
			in.Pods = append(in.Pods, p)
		}
		d := s.Decide(in)
		for _, h := range d.Handovers {
			owner[h.Shard] = int(h.To[len("edge-")] - '0')
		}
		pods = max(pods, d.Pods)
	}
	if pods != 2 || slices.Max(loads) > 0.7 || slices.Max(loads)-slices.Min(loads) > 0.12 {
		t.Errorf("%d pods with loads %.2f, want two with about the same and at most 0.7", pods, loads)
	}
	t.Run("and one more is wanted where its share is too much", func(t *testing.T) {
		p := Pod{Name: "edge-0", Node: "n", Ready: true, Cores: 1, Report: load.Report{Cores: []load.Core{{Other: 0.5}}}}
		for _, shard := range all {
			p.Report.Shards = append(p.Report.Shards, load.Shard{ID: shard, Work: 0.5 / 128})
		}
		s := NewScaler(DefaultPolicy)
		for now := range 3 {
			p.Report.At = epoch.Add(time.Duration(now) * time.Second)
			if d := s.Decide(Input{Now: p.Report.At, Bounds: b, Shards: all, Pods: []Pod{p}}); now == 2 && d.Pods != 2 {
				t.Errorf("%d pods for half a core of shards on a core that does half a core beside them, want 2", d.Pods)
			}
		}
	})
}
