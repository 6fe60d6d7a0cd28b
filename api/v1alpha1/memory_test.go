package v1alpha1

import "testing"

func TestMemoryGrowsInSteps(t *testing.T) {
	for need, want := range map[int64]string{
		0: "256Mi", 256: "256Mi", 257: "384Mi", 384: "384Mi", 385: "512Mi", 513: "768Mi", 768: "768Mi", 769: "1Gi", 1025: "1536Mi", 3000: "3Gi", 100_000: "128Gi",
	} {
		if got := MemoryFor(need); got.String() != want {
			t.Errorf("for %d MiB engines get %s, want %s", need, got.String(), want)
		}
	}
	p := ChainProgramSpec{EngineMemoryMiB: 200, CoreMemoryMiB: 20}
	if got := p.EngineMemory(16); got.String() != "768Mi" {
		t.Errorf("16 cores get %s, want 768Mi", got.String())
	}
	if got := (&ChainProgramSpec{}).EngineMemory(1); got.String() != FormerMemory {
		t.Errorf("a program of an earlier release gets %s, want what it had: %s", got.String(), FormerMemory)
	}
}
