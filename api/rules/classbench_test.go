package rules_test

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// packet is a TCP packet to port 80 with the given flags.
func packet(flags uint64) headerspace.Packet {
	var p headerspace.Packet
	set := func(f headerspace.Field, v uint64) { p[f] = headerspace.V(v) }
	for f := range headerspace.NumFields {
		if absent, ok := f.Absent(); ok {
			p[f] = absent
		}
	}
	r, _ := rules.ParseAddressSet("10.1.2.3")
	p[headerspace.Src] = headerspace.Addr(r.First)
	p[headerspace.Dst] = headerspace.Addr(r.First)
	set(headerspace.Proto, 6)
	set(headerspace.SPort, 40000)
	set(headerspace.DPort, 80)
	set(headerspace.TCPFlags, flags)
	return p
}

func TestAClassBenchLineMatchesThePacketsThatItMeans(t *testing.T) {
	const any4 = "@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 "
	icmp := packet(0)
	icmp[headerspace.Proto] = headerspace.V(1)
	for _, f := range []headerspace.Field{headerspace.SPort, headerspace.DPort, headerspace.TCPFlags} {
		icmp[f], _ = f.Absent()
	}
	tests := map[string]struct {
		line   string
		packet headerspace.Packet
		want   bool
	}{
		"a protocol mask of zero means any protocol":                {any4 + "0x00/0x00", icmp, true},
		"all ports mean packets without ports, too":                 {any4 + "0x01/0xFF", icmp, true},
		"a port means packets with that port only":                  {"@0.0.0.0/0 0.0.0.0/0 0 : 65535 80 : 80 0x00/0x00", icmp, false},
		"the port matches":                                          {"@0.0.0.0/0 0.0.0.0/0 0 : 65535 80 : 80 0x06/0xFF", packet(2), true},
		"the source prefix matches":                                 {"@10.0.0.0/8 0.0.0.0/0 0 : 65535 0 : 65535 0x06/0xFF", packet(2), true},
		"the source prefix does not match":                          {"@11.0.0.0/8 0.0.0.0/0 0 : 65535 0 : 65535 0x06/0xFF", packet(2), false},
		"ACK is 0x1000 and set":                                     {any4 + "0x06/0xFF 0x1000/0x1000", packet(16), true},
		"ACK is 0x1000 and clear":                                   {any4 + "0x06/0xFF 0x1000/0x1000", packet(2), false},
		"SYN is 0x0200 and must be clear":                           {any4 + "0x06/0xFF 0x0000/0x0200", packet(2), false},
		"a flags mask of zero asks nothing":                         {any4 + "0x06/0xFF 0x0000/0x0000", packet(255), true},
		"flags of a rule for UDP are not looked at":                 {any4 + "0x11/0xFF 0x0200/0x0200", packet(0), false},
		"flags of a rule for any protocol are not looked at":        {any4 + "0x00/0x00 0x0200/0x0200", packet(16), true},
		"a tab at the end of the line changes nothing":              {any4 + "0x06/0xFF\t0x0200/0x0200\t", packet(2), true},
		"colons without blanks around them are read all the same":   {"@0.0.0.0/0 0.0.0.0/0 0:65535 80:80 0x06/0xFF", packet(2), true},
		"a protocol under a mask that is neither all nor nothing":   {any4 + "0x04/0xFC", packet(2), true},
		"a protocol outside a mask that is neither all nor nothing": {any4 + "0x08/0xFC", packet(2), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			list, problems := rules.ClassBench([]byte(test.line + "\n"))
			if len(problems) > 0 || len(list) != 1 {
				t.Fatalf("the line gives %d rules, problems %v", len(list), problems)
			}
			if got := list[0].Filter.Contains(&test.packet); got != test.want {
				t.Errorf("the packet matches: %v, wanted %v; the filter is %s", got, test.want, list[0].Filter)
			}
		})
	}
}

func TestABadClassBenchLineIsToldWithItsNumberAndWhatWouldBeRight(t *testing.T) {
	tests := map[string]string{
		"nonsense": "not a ClassBench filter",
		"@10.0.0.0/33 0.0.0.0/0 0 : 65535 0 : 65535 0x06/0xFF":                "not a prefix",
		"@10.0.0.0/8 0.0.0.0/0 0 : 65536 0 : 65535 0x06/0xFF":                 "not a range of ports",
		"@10.0.0.0/8 0.0.0.0/0 0 : 65535 9 : 1 0x06/0xFF":                     "write 1 : 9",
		"@10.0.0.0/8 0.0.0.0/0 0 : 65535 0 : 65535 0x106/0xFF":                "not a protocol",
		"@10.0.0.0/8 0.0.0.0/0 0 : 65535 0 : 65535 0x06/0xFF 0x0000/0x0010":   "the low byte of the mask must be 00",
		"@10.0.0.0/8 0.0.0.0/0 0 : 65535 0 : 65535 0x06/0xFF 0x0000/0x0000 1": "not a ClassBench filter",
	}
	for line, want := range tests {
		_, problems := rules.ClassBench([]byte("\n" + line + "\n"))
		if len(problems) != 1 || problems[0].Line != 2 || problems[0].Warning || !strings.Contains(problems[0].Message, want) {
			t.Errorf("line %q gives %+v, wanted an error in line 2 that says %q", line, problems, want)
		}
	}
}

func TestOfManyBadLinesTheFirstAreTold(t *testing.T) {
	_, problems := rules.ClassBench([]byte(strings.Repeat("x\n", 1000)))
	if len(problems) != 21 || problems[0].Line != 1 || !strings.Contains(problems[20].Message, "more such lines") {
		t.Errorf("1000 bad lines give %d problems, wanted 20 and one that says that there are more", len(problems))
	}
}

func FuzzClassBench(f *testing.F) {
	f.Add("@10.0.0.0/8\t0.0.0.0/0\t0 : 65535\t80 : 80\t0x06/0xFF\t0x1000/0x1000\n")
	f.Add("@0.0.0.0/0 1.2.3.4/32 5 : 4 0 : 65535 0x04/0xFC\n# comment\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, problems := rules.ClassBench([]byte(text))
		checkFile(t, text, list, problems)
	})
}

// checkFile fails if a rule or a problem has a line that the file has not, or if a
// rule's filter passes nothing.
func checkFile(t *testing.T, text string, list []rules.Rule, problems []rules.Problem) {
	t.Helper()
	last := strings.Count(text, "\n") + 1
	for _, r := range list {
		if r.Line < 1 || r.Line > last {
			t.Errorf("a rule is in line %d of %d", r.Line, last)
		}
		if r.Filter.IsEmpty() {
			t.Errorf("the rule of line %d can match nothing, and nobody said so", r.Line)
		}
	}
	for _, p := range problems {
		if p.Line < 1 || p.Line > last || p.Message == "" {
			t.Errorf("problem %+v is in line %d of %d", p, p.Line, last)
		}
	}
}
