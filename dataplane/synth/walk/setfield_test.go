package walk_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/synth/testbed"
)

// TestAPortIsWrittenOnlyWhereThereIsOne has a rule on a port behind an element that writes it. A TCP packet with a broken header has no ports:
// it gets none, and the rule does not match.
func TestAPortIsWrittenOnlyWhereThereIsOne(t *testing.T) {
	to8080 := headerspace.Filter{}.With(headerspace.DPort, headerspace.Of(8080))
	_, r := testbed.LegsFrom(t, testbed.Row(
		element.SetField{Field: headerspace.DPort, Value: headerspace.V(8080)},
		element.Classifier{Rules: []element.Rule{{Name: "web", Filters: []headerspace.Filter{to8080}, Out: 0}}, Default: 1, Outs: 2},
	))
	segment := r.Segments[r.Program.Interfaces[0].Segment]
	none, _ := headerspace.DPort.Absent()
	for _, k := range []struct {
		proto, frag uint64
		port        headerspace.Value
		want        string
	}{
		{6, headerspace.FragWhole, headerspace.V(443), "dport := 8080 → output b"},
		{17, headerspace.FragFirst, headerspace.V(443), "dport := 8080 → output b"},
		{6, headerspace.FragWhole, none, "drop end"},
		{17, headerspace.FragFirst, none, "drop end"},
		{17, headerspace.FragLater, none, "drop end"},
		{47, headerspace.FragWhole, none, "drop end"},
	} {
		var p headerspace.Packet
		p[headerspace.Proto], p[headerspace.Frag], p[headerspace.DPort] = headerspace.V(k.proto), headerspace.V(k.frag), k.port
		leaf, ok := segment.Match(&p)
		if !ok {
			t.Fatalf("%+v: no leaf", k)
		}
		if got := segment.Classes[leaf.Class].Legs[0].String(); got != k.want {
			t.Errorf("protocol %d, frag %d, port %v: %s, want %s", k.proto, k.frag, k.port, got, k.want)
		}
	}
}
