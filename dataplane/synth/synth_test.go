package synth_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"github.com/sinter-nfv/sinter/dataplane/synth/testbed"
)

// Tests of functions together: a module's own see no other one.

func TestAMeterBetweenNAPTsKeepsThemApart(t *testing.T) {
	m := element.Meter{Rate: 1000, Burst: 12000}
	r, err := synth.Synthesize(testbed.Row(testbed.Masquerade("192.0.2.1"), m, testbed.Masquerade("198.51.100.1")), synth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range r.Runs {
		if len(run.Nodes) > 1 {
			t.Errorf("%v are one run: where the second has no port, the meter would not measure", run.Nodes)
		}
	}
	if n := len(r.Program.Tables); n != 3 {
		t.Errorf("the program has %d state tables, want those of two NAPTs and a meter", n)
	}
}
