package moduletest

import (
	"strings"
	"testing"
)

func TestNamesOfFunctionsAreFoundInWords(t *testing.T) {
	for text, want := range map[string]string{
		"naptTables": "napt", "Op_StateForward": "", "Leg_Track": "Track", "want a NAPT's": "NAPT", "the destination": "", "observations[%d]": "observations",
		"MaxMeters": "Meters", "parameter": "", "nat-no-binding": "nat", "GetInspector": "Inspector",
	} {
		if got := strings.Join(named(text), " "); got != want {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
}
