package synth_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/testbed"
)

var guard = element.ConnLimit{
	Table: "cl", Max: 1000, Full: "cl/full", PerHost: element.SubscriberLimits{PrefixLen: 24, MaxSessions: 100, Reason: "cl/limit"},
	Timeouts: element.Timeouts{TCP: time.Hour, TCPTransitory: time.Minute, TCPClosing: time.Second, UDP: time.Minute, ICMP: time.Second},
}

// TestALimiterBetweenNAPTsSeesWhatTheyMake: the first NAPT's addresses, both ways.
func TestALimiterBetweenNAPTsSeesWhatTheyMake(t *testing.T) {
	forth, r := testbed.LegsFrom(t, testbed.BothWays(testbed.Masquerade("192.0.2.1"), guard, testbed.Masquerade("198.51.100.1")))
	const both = "translate source (napt0), bound connections (connlimit1), translate source (napt2) → output b"
	if !slices.Contains(forth, both) {
		t.Errorf("from inside packets have %q done, want %q among them", forth, both)
	}
	const limited, back = "bound connections (connlimit1) → translate back (napt0)", "translate back (napt2)"
	var found []string
	for _, s := range r.Segments {
		for _, c := range s.Classes {
			for _, l := range c.Legs {
				found = append(found, l.String())
			}
		}
	}
	for _, want := range []string{limited, back} {
		if !slices.Contains(found, want) {
			t.Errorf("packets have %q done, want %q among them", found, want)
		}
	}
	for _, run := range r.Runs {
		if len(run.Nodes) > 1 {
			t.Errorf("%v are one run: the limiter would not see what the first one made", run.Nodes)
		}
	}
}

// TestALimiterBesideAJoinedRun has two NAPTs behind a limiter: they stay one run, whose replies the limiter sees with the host's address.
func TestALimiterBesideAJoinedRun(t *testing.T) {
	forth, r := testbed.LegsFrom(t, testbed.BothWays(guard, testbed.Masquerade("192.0.2.1"), testbed.Masquerade("198.51.100.1")))
	const joined = "bound connections (connlimit0), translate source (napt1>napt2) → output b"
	if !slices.Contains(forth, joined) {
		t.Errorf("from inside packets have %q done, want %q among them", forth, joined)
	}
	i := slices.IndexFunc(r.Program.Runs, func(run *programpb.Run) bool { return run.Name == "napt1>napt2" })
	if i < 0 {
		t.Fatalf("there is no such run: %v", r.Program.Runs)
	}
	for _, c := range r.Segments[r.Program.Runs[i].Segment].Classes {
		for _, l := range c.Legs {
			if got := l.String(); got != "bound connections (connlimit0) → output a" {
				t.Errorf("replies have %q done", got)
			}
		}
	}
}
