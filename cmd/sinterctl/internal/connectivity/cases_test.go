package connectivity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/test/packets"
)

// report is what a trial says.
func report(t *testing.T, tr *trial) *Report {
	t.Helper()
	var r Report
	if err := tr.run(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

func TestTheOraclePassesAllTests(t *testing.T) {
	r := report(t, newOracle(t).trial())
	for _, row := range r.Tests {
		if !row.Passed {
			t.Errorf("%s: %s", row.Name, row.Detail)
		}
	}
	if want := 2 + len(passingCases) + len(dropCases); len(r.Tests) != want || r.Passed != want || r.Err() != nil {
		t.Errorf("%d of %d passed, want %d; %v", r.Passed, len(r.Tests), want, r.Err())
	}
}

func TestEachFrameIsDroppedForItsReasonAlone(t *testing.T) {
	o := newOracle(t)
	tr := o.trial()
	for _, h := range []*host{tr.client, tr.server} {
		if err := h.resolve(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range dropCases {
		side := inside
		if c.from(tr) == tr.server {
			side = outside
		}
		result := o.chain.Process(0, side, c.frame(c.from(tr)), nil)
		if len(result.Out) > 0 || len(result.Drops) != 1 || result.Drops[0].Reason != c.reason {
			t.Errorf("%s: dropped are %v, sent are %d", c.reason, result.Drops, len(result.Out))
		}
	}
}

func TestReasonsAreNamedOnce(t *testing.T) {
	var names []string
	for _, c := range dropCases {
		names = append(names, c.reason)
	}
	slices.Sort(names)
	if once := slices.Compact(slices.Clone(names)); len(once) != len(names) {
		t.Errorf("some of %q are there twice", names)
	}
}

// failed are the rows that failed, with their details.
func failed(r *Report) string {
	var b strings.Builder
	for _, row := range r.Tests {
		if !row.Passed {
			fmt.Fprintf(&b, "%s: %s\n", row.Name, row.Detail)
		}
	}
	return b.String()
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	t.Parallel() // it waits for what does not come
	rewritten := func(change func(p *packets.IPv4)) func(int, []byte) []byte {
		return func(side int, frame []byte) []byte {
			v, ok := packets.Parse(frame)
			if !ok || v.EtherType != packets.EtherIPv4 || side != outside {
				return frame
			}
			change(&v.IP)
			return packets.Ethernet(v.DstMAC, v.SrcMAC, nil, packets.EtherIPv4, v.IP.Bytes(), nil)
		}
	}
	for name, c := range map[string]struct {
		tampers func(side int, frame []byte) []byte
		want    string
	}{
		"a wire that loses what comes to the server": {
			func(side int, frame []byte) []byte {
				if side == outside {
					return nil
				}
				return frame
			},
			"arp-server: ARP for 198.18.0.1: nothing came to the server: 2 frames sent by the server\n" +
				"udp: nothing came to the server: 2 frames sent by the client",
		},
		"a chain that does not translate": {
			rewritten(func(p *packets.IPv4) { p.Src = clientAddress }),
			"udp: the server got it from 10.213.0.7; want an address of the pool, 198.18.0.10 to 198.18.0.11",
		},
		"a chain that leaves the TTL as it is": {
			rewritten(func(p *packets.IPv4) { p.TTL = ttl }),
			"udp: the server got it with TTL 64; want 63",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOracle(t)
			o.tampers = c.tampers
			r := report(t, o.trial())
			if got := failed(r); !strings.Contains(got, c.want) {
				t.Errorf("failed are\n%s\nwant\n%s", got, c.want)
			}
			if err := r.Err(); err == nil || !strings.Contains(err.Error(), "tests failed") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestDropsThatAreNotCountedFail(t *testing.T) {
	o := newOracle(t)
	tr := o.trial()
	tr.drops = func(ctx context.Context) (map[string]int64, error) {
		now, err := o.drops(ctx)
		now["martian"] = min(now["martian"], copies-1)
		return now, err
	}
	if got, want := failed(report(t, tr)), "martian: 2 of 3 frames of the client are counted as martian after 1s\n"; got != want {
		t.Errorf("failed are %q, want %q", got, want)
	}
}

func TestDropsThatCannotBeReadAreAnError(t *testing.T) {
	tr := newOracle(t).trial()
	tr.drops = func(context.Context) (map[string]int64, error) { return nil, errors.New("forbidden") }
	if err := tr.run(t.Context(), &Report{}); err == nil || err.Error() != "forbidden" {
		t.Errorf("got %v", err)
	}
}

func TestAWireThatEndsIsSaid(t *testing.T) {
	t.Parallel() // it waits for what does not come
	o := newOracle(t)
	lost := &fakeWire{frames: make(chan []byte), err: errors.New("pod not found"), send: func([]byte) error { return nil }}
	close(lost.frames)
	tr := newTrial(lost, o.wires[outside], o.drops, fast)
	if got, want := failed(report(t, tr)), "arp-client: ARP for 10.213.0.1: the wire of the client ended: pod not found\n"; !strings.HasPrefix(got, want) {
		t.Errorf("failed are %q, want %q first", got, want)
	}
}

func TestARunIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newOracle(t).trial().run(ctx, &Report{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAHostAnswersForItsAddressAlone(t *testing.T) {
	got := make(chan []byte, 2)
	w := &fakeWire{mac: packets.MAC{2, 9}, frames: make(chan []byte), send: func(f []byte) error { got <- f; return nil }}
	newHost("server", w, serverAddress, outsideAddress, fast)
	chain := macs[outside]
	for _, target := range []uint32{poolFirst, serverAddress} {
		w.frames <- packets.Ethernet(packets.Broadcast, chain, nil, packets.EtherARP, packets.ARP(packets.ARPRequest, chain, outsideAddress, packets.MAC{}, target), nil)
	}
	close(w.frames)
	op, sender, senderIP, target, ok := arpMessage(<-got)
	if !ok || op != packets.ARPReply || sender != w.mac || senderIP != serverAddress || target != outsideAddress {
		t.Errorf("it answers op %d, %x at %s to %s", op, sender, text(senderIP), text(target))
	}
}
