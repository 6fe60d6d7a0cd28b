package lower

import (
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/api/finding"
)

func TestANameThatIsTakenIsSaidWithWhoHasIt(t *testing.T) {
	var b Builder
	taken := map[string]string{"inside": "the port"}
	for i, name := range []string{"web", "inside", "web", "mail", "web"} {
		b.TakeName(taken, finding.Object{Kind: "Chain", Name: "c"}, Index("spec.list", i), name, "things")
	}
	var got []string
	for _, f := range b.findings {
		got = append(got, f.String())
	}
	want := []string{
		`Chain c: spec.list[1].name: "inside": the name is taken by the port; things need names of their own`,
		`Chain c: spec.list[2].name: "web": the name is taken by spec.list[0]; things need names of their own`,
		`Chain c: spec.list[4].name: "web": the name is taken by spec.list[2]; things need names of their own`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
