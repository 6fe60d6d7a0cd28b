package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/pcapgo"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

const (
	received = controlpb.TracedFrame_RECEIVED
	sent     = controlpb.TracedFrame_SENT
	notSent  = controlpb.TracedFrame_NOT_SENT
)

var began = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func started() *controlpb.TraceStarted {
	return &controlpb.TraceStarted{
		Hash: bytes.Repeat([]byte{0xab}, 32), NowNs: 5_000_000, UnixNs: uint64(began.UnixNano()),
		Interfaces: []string{"inside", "outside"}, Segments: []string{"from inside", "from outside"},
		Trace: &controlpb.StartTrace{SnapLen: 96},
	}
}

func at(kind controlpb.TracedFrame_Kind, intf, length uint32, data string) *controlpb.TracedFrame {
	return &controlpb.TracedFrame{Kind: kind, Interface: intf, Length: length, Data: []byte(data)}
}

// lines reads a file back: a line for each frame.
func lines(t *testing.T, file []byte) []string {
	t.Helper()
	r, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ids := map[uint64]int{}
	for {
		data, ci, opts, err := r.ReadPacketDataWithOptions()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		intf, err := r.Interface(ci.InterfaceIndex)
		if err != nil {
			t.Fatal(err)
		}
		id := "-"
		if opts.PacketID != nil {
			if _, known := ids[*opts.PacketID]; !known {
				ids[*opts.PacketID] = len(ids)
			}
			id = fmt.Sprint(ids[*opts.PacketID])
		}
		out = append(out, fmt.Sprintf("%s %s dir=%d id=%s len=%d %q | %s",
			ci.Timestamp.Sub(began), intf.Name, opts.Flags.Direction, id, ci.Length, data, strings.Join(opts.Comments, " | ")))
	}
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestFramesAreWrittenWithTheirInterfaceDirectionTimeAndStory(t *testing.T) {
	var b bytes.Buffer
	f := NewFile(&b, "test")
	program := &programpb.Program{
		Interfaces: []*programpb.Interface{{Name: "inside"}, {Name: "outside"}},
		Segments: []*programpb.Segment{
			{Classes: []*programpb.Class{{Legs: []*programpb.Leg{{Outcome: &programpb.Leg_Output{Output: 1}}}}}},
		},
	}
	s := f.Source("", func([]byte) *programpb.Program { return program })
	if err := s.Started(started()); err != nil {
		t.Fatal(err)
	}
	err := s.Traced(&controlpb.Traced{Packets: []*controlpb.TracedPacket{
		{
			Number: 7, Worker: 1, TimeNs: 8_000_001, Classes: []*controlpb.TracedClass{{Segment: 0, Class: 0}},
			Frames: []*controlpb.TracedFrame{at(received, 0, 1500, "came"), at(sent, 1, 1500, "left")},
		},
		{Number: 9, TimeNs: 9_000_000, Drops: []string{"fw/drop"}, Cut: true, Frames: []*controlpb.TracedFrame{at(received, 1, 4, "came")}},
		{Number: 10, TimeNs: 9_000_000, Frames: []*controlpb.TracedFrame{at(received, 0, 4, "wait")}},
		{TimeNs: 12_000_000, Drops: []string{"neighbor-unresolved"}, Frames: []*controlpb.TracedFrame{at(notSent, nowhere, 4, "late")}},
		{Number: 11, TimeNs: 13_000_000, Drops: []string{"tx-full"}, Frames: []*controlpb.TracedFrame{at(received, 0, 4, "came"), at(notSent, 1, 4, "full")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, lines(t, b.Bytes()), []string{
		`3.000001ms inside in dir=1 id=0 len=1500 "came" | packet 7 of worker 1 | segment from inside, class 0: → outside`,
		`3.000001ms outside out dir=2 id=0 len=1500 "left" | packet 7 of worker 1`,
		`4ms outside in dir=1 id=1 len=4 "came" | packet 9 of worker 0 | dropped: fw/drop | more happened to it than the trace keeps`,
		`4ms inside in dir=1 id=2 len=4 "wait" | packet 10 of worker 0 | waits until its next hop's address is known`,
		`7ms not sent dir=2 id=- len=4 "late" | dropped: neighbor-unresolved`,
		`8ms inside in dir=1 id=3 len=4 "came" | packet 11 of worker 0 | dropped: tx-full`,
		`8ms outside not sent dir=2 id=3 len=4 "full" | packet 11 of worker 0`,
	})
}

func TestAPacketThatWasAtAFunctionIsTheSameOneBehindIt(t *testing.T) {
	packets := []*controlpb.TracedPacket{
		{Number: 7, Worker: 1, TimeNs: 5_000_000, Frames: []*controlpb.TracedFrame{at(received, 0, 4, "came"), at(sent, 1, 4, "left")}},
		{Number: 3, Worker: 2, TimeNs: 6_000_000, FirstNumber: 7, FirstWorker: 1, Frames: []*controlpb.TracedFrame{at(received, 1, 4, "back")}, Drops: []string{"nat-exhausted"}},
		{Number: 7, Worker: 2, TimeNs: 6_000_000, Frames: []*controlpb.TracedFrame{at(received, 1, 4, "came")}, Drops: []string{"fw/drop"}},
	}
	for name, c := range map[string]struct {
		find func([]byte) *programpb.Program
		back string
	}{
		"of a program that is known": {func([]byte) *programpb.Program {
			return &programpb.Program{Interfaces: []*programpb.Interface{{Name: "inside"}, {Name: "outside", Wire: true, Function: "ips"}}}
		}, "back from ips"},
		"of another one": {nil, "back from a function"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			s := NewFile(&b, "test").Source("", c.find)
			if err := s.Started(started()); err != nil {
				t.Fatal(err)
			}
			if err := s.Traced(&controlpb.Traced{Packets: packets}); err != nil {
				t.Fatal(err)
			}
			same(t, lines(t, b.Bytes()), []string{
				`0s inside in dir=1 id=0 len=4 "came" | packet 7 of worker 1`,
				`0s outside out dir=2 id=0 len=4 "left" | packet 7 of worker 1`,
				`1ms outside in dir=1 id=0 len=4 "back" | packet 7 of worker 1 | ` + c.back + ` | dropped: nat-exhausted`,
				`1ms outside in dir=1 id=1 len=4 "came" | packet 7 of worker 2 | dropped: fw/drop`,
			})
		})
	}
}

func TestSeveralEnginesWriteOneFile(t *testing.T) {
	var b bytes.Buffer
	f := NewFile(&b, "test")
	if f.Begun() {
		t.Error("nothing is in it yet")
	}
	for _, name := range []string{"edge-0", "edge-1"} {
		s := f.Source(name, nil)
		if err := s.Started(started()); err != nil {
			t.Fatal(err)
		}
		err := s.Traced(&controlpb.Traced{Packets: []*controlpb.TracedPacket{
			{Number: 1, TimeNs: 5_000_000, Classes: []*controlpb.TracedClass{{Segment: 1, Class: 3}}, Frames: []*controlpb.TracedFrame{at(received, 0, 1, "x")}, Drops: []string{"local"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	same(t, lines(t, b.Bytes()), []string{
		`0s edge-0/inside in dir=1 id=0 len=1 "x" | packet 1 of worker 0 | segment from outside, class 3 | dropped: local`,
		`0s edge-1/inside in dir=1 id=1 len=1 "x" | packet 1 of worker 0 | segment from outside, class 3 | dropped: local`,
	})
}

func TestAFileOfNoPacketsIsOneThatCanBeRead(t *testing.T) {
	var b bytes.Buffer
	s := NewFile(&b, "test").Source("", nil)
	if err := s.Started(started()); err != nil {
		t.Fatal(err)
	}
	if got := lines(t, b.Bytes()); len(got) > 0 {
		t.Errorf("got %s", got)
	}
}

func TestTheSummarySaysWhyItEndedAndWhatIsMissing(t *testing.T) {
	for want, traced := range map[string]*controlpb.Traced{
		"traced 0 packets: its time is over; 900 came meanwhile, 90 were looked at": {Received: 900, Examined: 90, Over: "its time is over"},
		"traced 1 packet: it was stopped; 5 came meanwhile, 5 were looked at; 3 more found no room, look at one in more, or keep less of them": {
			Packets: make([]*controlpb.TracedPacket, 1), Received: 5, Examined: 5, Missed: 3, Over: "it was stopped",
		},
	} {
		s := NewFile(io.Discard, "test").Source("", nil)
		if err := s.Started(started()); err != nil {
			t.Fatal(err)
		}
		if err := s.Traced(traced); err != nil {
			t.Fatal(err)
		}
		if got := s.Summary(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func want(t *testing.T, args ...string) (*controlpb.StartTrace, error) {
	t.Helper()
	var f Flags
	flags := pflag.NewFlagSet("trace", pflag.ContinueOnError)
	f.Add(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f.Want()
}

func TestFlagsAskForClassesReasonsAndBounds(t *testing.T) {
	got, err := want(t, "--class", "from inside:4", "--class", "0", "--class", "back through nat/napt:1", "--class", "from inside:2",
		"--class", "answers:3", "--class", "answers", "--drop", "fw/drop", "--one-in", "10", "--snap", "128", "-c", "5", "--for", "1m")
	if err != nil {
		t.Fatal(err)
	}
	wanted := &controlpb.StartTrace{
		Classes: []*controlpb.TraceClasses{
			{Segment: "from inside", Classes: []uint32{4, 2}}, {Segment: "0"}, {Segment: "back through nat/napt", Classes: []uint32{1}}, {Segment: "answers"},
		},
		Reasons: []string{"fw/drop"}, OneIn: 10, SnapLen: 128, MaxPackets: 5, DurationNs: 60e9,
	}
	if !proto.Equal(got, wanted) {
		t.Errorf("got  %v\nwant %v", got, wanted)
	}
}

func TestFlagsThatAskForNothingAreRefused(t *testing.T) {
	for arg, part := range map[string]string{
		"--class=from inside:x": `"from inside:x": want SEGMENT or SEGMENT:CLASS`,
		"--class=:4":            "the segment is missing",
		"--one-in=0":            "--one-in 0: want at least 1",
		"--snap=0":              "--snap 0: want at least 1",
		"--packets=0":           "--packets 0: want at least 1",
		"--for=0s":              "--for 0s: want a time above zero",
	} {
		if _, err := want(t, arg); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: got %v, want an error with %q", arg, err, part)
		}
	}
}
