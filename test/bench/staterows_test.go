package main

import "testing"

func TestChainsOfStateAreOneProgramAndOneForEachFunction(t *testing.T) {
	b := &bench{scratch: t.TempDir(), apart: true}
	for _, r := range stateRows() {
		_, apart, err := b.programs(r)
		if err != nil {
			t.Errorf("%s: %v", r.Name, err)
		} else if r.apart && len(apart) != r.N {
			t.Errorf("%s: %d programs for %d functions", r.Name, len(apart), r.N)
		}
	}
}
