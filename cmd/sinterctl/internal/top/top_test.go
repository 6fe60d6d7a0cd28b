package top

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/flows"
)

func tops() flows.Tops {
	prefix := netip.MustParsePrefix
	return flows.Tops{
		Monitor: "mon", Took: 60 * time.Second, Ended: true,
		Lists: []flows.Top{
			{By: "Flow", Packets: 1000, Bytes: 1_000_000, Unlisted: 5000, Rows: []flows.Row{
				{Source: prefix("10.0.0.7/32"), Destination: prefix("192.0.2.1/32"), Protocol: 6, SourcePort: 5000, DestinationPort: 443, Bytes: 750_000, Packets: 500},
				{Source: prefix("10.0.0.8/32"), Destination: prefix("192.0.2.2/32"), Protocol: 1, DestinationPort: 2048, Bytes: 30_000, Error: 5000, Packets: 20},
			}},
			{By: "DestinationPrefix", PrefixLength: 24, Packets: 1000, Bytes: 1_000_000, Rows: []flows.Row{{Destination: prefix("192.0.2.0/24"), Bytes: 1_000_000, Packets: 1000}}},
		},
	}
}

func TestListsAreTables(t *testing.T) {
	var b strings.Builder
	if err := Text(&b, tops()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"monitor mon, last complete interval, 1m0s\n", "by Flow: 1000 packets, 1000000 bytes in all\n",
		"75.0 %", "0.100", "tcp 10.0.0.7:5000 > 192.0.2.1:443", "icmp 10.0.0.8 > 192.0.2.2", "What is not listed has at most 5000 bytes each.\n",
		"by DestinationPrefix/24", "192.0.2.0/24",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestOneListIsChosenByItsName(t *testing.T) {
	for name, want := range map[string]string{"flows": "Flow", "destination-prefixes": "DestinationPrefix"} {
		got, err := Only(tops(), name)
		if err != nil || len(got.Lists) != 1 || got.Lists[0].By != want {
			t.Errorf("%s: got %+v, %v", name, got.Lists, err)
		}
	}
	if got, err := Only(tops(), ""); err != nil || len(got.Lists) != 2 {
		t.Errorf("without a name: got %d lists, %v", len(got.Lists), err)
	}
	if _, err := Only(tops(), "sources"); err == nil || err.Error() != "monitor \"mon\" does not list sources: add Source to its `top.by`" {
		t.Errorf("got %v", err)
	}
	if _, err := Only(flows.Tops{Monitor: "mon"}, "flows"); err == nil || !strings.Contains(err.Error(), "has no `top`") {
		t.Errorf("got %v", err)
	}
	if err := Known("source"); err == nil || !strings.Contains(err.Error(), `did you mean "sources"?`) {
		t.Errorf("got %v", err)
	}
}
