// Package capture writes what an engine traces into pcapng files.
package capture

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

// Flags say which packets are wanted, and how much of them.
type Flags struct {
	classes, drops []string
	oneIn          uint32
	snap           uint32
	packets        uint32
	duration       time.Duration
}

// Add adds the flags. The engine checks the values' bounds.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.classes, "class", nil, "packets of a `segment:class` as explain and synth name them (\"from inside:4\"), or of all of a segment; may be repeated")
	flags.StringArrayVar(&f.drops, "drop", nil, "packets dropped for a `reason` (\"fw/drop\", \"nat-exhausted\"); may be repeated")
	flags.Uint32Var(&f.oneIn, "one-in", 1, "look at one of so many packets, chosen at random")
	flags.Uint32Var(&f.snap, "snap", 256, "bytes kept of each frame, at most 16384")
	flags.Uint32VarP(&f.packets, "packets", "c", 1000, "end after so many packets, at most 1000000")
	flags.DurationVar(&f.duration, "for", 10*time.Second, "end after this time, at most 1h")
}

// Want is what the flags ask of an engine.
func (f *Flags) Want() (*controlpb.StartTrace, error) {
	// For the engine a zero is what the flag's default is.
	for flag, v := range map[string]uint32{"one-in": f.oneIn, "snap": f.snap, "packets": f.packets} {
		if v == 0 {
			return nil, fmt.Errorf("--%s 0: want at least 1", flag)
		}
	}
	if f.duration <= 0 {
		return nil, fmt.Errorf("--for %s: want a time above zero", f.duration)
	}
	want := &controlpb.StartTrace{
		Reasons: f.drops, OneIn: f.oneIn, SnapLen: f.snap, MaxPackets: f.packets, DurationNs: uint64(f.duration.Nanoseconds()),
	}
	bySegment := map[string]*controlpb.TraceClasses{}
	for _, text := range f.classes {
		segment, class, err := parseClass(text)
		if err != nil {
			return nil, err
		}
		c := bySegment[segment]
		switch {
		case c == nil:
			c = &controlpb.TraceClasses{Segment: segment, Classes: class}
			bySegment[segment] = c
			want.Classes = append(want.Classes, c)
		case class == nil || c.GetClasses() == nil:
			c.Classes = nil // all of the segment
		default:
			c.Classes = append(c.Classes, class...)
		}
	}
	return want, nil
}

// parseClass reads SEGMENT:CLASS, or SEGMENT: all its classes.
func parseClass(text string) (segment string, class []uint32, err error) {
	at := strings.LastIndexByte(text, ':')
	if at < 0 {
		segment = text
	} else {
		number, err := strconv.ParseUint(text[at+1:], 10, 32)
		if err != nil {
			return "", nil, fmt.Errorf("--class %q: want SEGMENT or SEGMENT:CLASS with the class's number, as in \"from inside:4\"", text)
		}
		segment, class = text[:at], []uint32{uint32(number)}
	}
	if segment == "" {
		return "", nil, fmt.Errorf("--class %q: the segment is missing; want SEGMENT or SEGMENT:CLASS, as in \"from inside:4\"", text)
	}
	return segment, class, nil
}
