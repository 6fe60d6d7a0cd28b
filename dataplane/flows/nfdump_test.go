package flows

import (
	"context"
	"fmt"
	"maps"
	"net"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/collector"
)

// export sends records to a collector, and returns what that shows, as text by flow.
func export(t *testing.T, sampling uint32, records ...*programpb.FlowRecord) map[string][2]uint64 {
	t.Helper()
	c := collector.Start(t)
	x := &Export{}
	read := func(context.Context) (*programpb.FlowRecords, error) {
		r := &programpb.FlowRecords{UnixNs: uint64(time.Now().UnixNano()), Records: records}
		records = nil
		return r, nil
	}
	if _, err := x.Step(t.Context(), exporting(net.UDPAddrFromAddrPort(c.Addr), sampling), read, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	got := map[string][2]uint64{}
	for _, f := range c.Flows() {
		k := fmt.Sprintf("%s %s:%s > %s:%s", f.Protocol, f.Source, f.SourcePort, f.Destination, f.DestinationPort)
		got[k] = [2]uint64{got[k][0] + f.Packets, got[k][1] + f.Bytes}
	}
	return got
}

// TestACollectorOfOthersReadsWhatIsExported has nfdump show the flows.
func TestACollectorOfOthersReadsWhatIsExported(t *testing.T) {
	got := export(t, 1,
		&programpb.FlowRecord{Source: 0x0a000001, Destination: 0xc6336401, SourcePort: 4000, DestinationPort: 443, Protocol: 6, TcpFlags: 0x1b, Packets: 10, Bytes: 12_000, FirstMs: 900, LastMs: 10},
		&programpb.FlowRecord{Source: 0x0a000002, Destination: 0xc6336401, SourcePort: 5000, DestinationPort: 53, Protocol: 17, Packets: 1, Bytes: 72, FirstMs: 5, LastMs: 5},
		&programpb.FlowRecord{Source: 0x0a000002, Destination: 0xc6336402, DestinationPort: 8 << 8, Protocol: 1, Packets: 3, Bytes: 252, FirstMs: 500, LastMs: 5},
	)
	want := map[string][2]uint64{
		"6 10.0.0.1:4000 > 198.51.100.1:443": {10, 12_000},
		"17 10.0.0.2:5000 > 198.51.100.1:53": {1, 72},
		"1 10.0.0.2:0 > 198.51.100.2:8.0":    {3, 252},
	}
	if !maps.Equal(got, want) {
		t.Errorf("nfdump shows %v, want %v", got, want)
	}
}

// TestACollectorOfOthersIsToldHowPacketsAreSampled has nfdump multiply what was sampled.
func TestACollectorOfOthersIsToldHowPacketsAreSampled(t *testing.T) {
	got := export(t, 100,
		&programpb.FlowRecord{Source: 0x0a000002, Destination: 0xc6336401, SourcePort: 5000, DestinationPort: 53, Protocol: 17, Packets: 7, Bytes: 700, FirstMs: 50, LastMs: 5},
	)
	if want := (map[string][2]uint64{"17 10.0.0.2:5000 > 198.51.100.1:53": {700, 70_000}}); !maps.Equal(got, want) {
		t.Errorf("nfdump shows %v, want %v", got, want)
	}
}
