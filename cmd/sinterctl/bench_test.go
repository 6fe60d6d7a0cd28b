package main

import (
	"encoding/json"
	"testing"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/bench"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/engine"
)

func TestBenchPrintsWhatWasMeasured(t *testing.T) {
	const dir = "../../dataplane/engine/build"
	if _, err := engine.Find("sinter-bench", dir); err != nil {
		t.Skipf("the engine is not built (make engine): %v", err)
	}
	stdout, stderr, err := sinterctl(t, "bench", office, "--in", "inside", "--src", "10.0.0.10", "--dst", "203.0.113.80", "--tcp-flags", "ACK",
		"--no-huge", "--engine-dir", dir, "-o", "json", "--", "--no-shconf")
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	var r bench.Result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	if r.Burst == 0 || r.FullBursts == 0 || r.TSCHz == 0 || r.CyclesPerPacket.Median == 0 || len(r.Stages) != 6 || r.Sent == 0 || r.Sessions.Created != 1 || len(r.Classifiers) == 0 {
		t.Errorf("it prints\n%s", stdout)
	}
}
