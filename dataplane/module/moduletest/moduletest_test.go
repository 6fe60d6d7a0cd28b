package moduletest

import (
	"slices"
	"strings"
	"testing"
)

func TestNamesOfFunctionsAreFoundInWords(t *testing.T) {
	for text, want := range map[string]string{
		"naptTables": "napt", "Op_StateForward": "", "Leg_Track": "Track", "want a NAPT's": "NAPT", "the destination": "", "observations[%d]": "observations",
		"MaxMeters": "Meters", "parameter": "", "nat-no-binding": "nat", "GetInspector": "Inspector",
	} {
		if got := strings.Join(named(text, nil), " "); got != want {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
	if got := named("a NAPT's meter", []string{"napt"}); !slices.Equal(got, []string{"meter"}) {
		t.Errorf("beside NAPTs, %q are named, want the meter", got)
	}
}
