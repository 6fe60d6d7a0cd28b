package scaling

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/load"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

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
		t.Errorf("%d pods are left and %d were made, want the first of three to be left, and none made again", len(w.pods), w.made)
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
