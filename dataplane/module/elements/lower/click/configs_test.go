package click_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/compiler"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/test/packets"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// TestConfigurationsDoWhatClickDocuments reads the configurations of testdata. Each has packets in its comments, with what becomes of them by
// Click's manual pages:
//
//	//< eth0 udp 10.0.0.2:1000 198.51.100.1:53 ttl=64
//	//> eth1 udp 10.0.0.2:1000 198.51.100.1:53 ttl=63 via=203.0.113.254
//	//! click/rt/no-route
//
// "<" comes in, ">" leaves, "!" is dropped under a reason. "$p" is a port that was chosen; it stays the same. "//+ 10s" lets time pass.
// Configurations without packets are refused. What is found in each is in findings.golden.
func TestConfigurationsDoWhatClickDocuments(t *testing.T) {
	files, err := filepath.Glob("testdata/*.click")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d configurations, %v", len(files), err)
	}
	var found bytes.Buffer
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".click")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			g, findings := compile(t, file)
			fmt.Fprintf(&found, "%s\n%s", name, strings.ReplaceAll(findings, "testdata/", "  "))
			steps := stepsOf(string(text))
			switch {
			case g == nil && len(steps) > 0:
				t.Errorf("does not compile:\n%s", findings)
			case g != nil && len(steps) == 0:
				t.Error("compiles, and has no packets")
			case g != nil:
				follow(t, g, steps)
			}
		})
	}
	const golden = "testdata/findings.golden"
	if *update {
		if err := os.WriteFile(golden, found.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(found.Bytes(), want) && !t.Failed() {
		t.Errorf("what is found is not what %s has (-update rewrites it):\n%s", golden, found.String())
	}
}

// compile makes a configuration's graph and program; the graph is nil if it is refused.
func compile(t *testing.T, file string) (*graph.Graph, string) {
	t.Helper()
	b, findings := manifest.Load(file)
	if findings.HasErrors() || len(b.Chains) != 1 {
		return nil, findings.Sorted().String()
	}
	p, more, err := compiler.Compile(compiler.Sources{Chain: b.Chains[0], Functions: b.Functions, Files: b.Files})
	findings = append(findings, b.Locate(more)...).Sorted()
	switch {
	case err != nil && !findings.HasErrors():
		t.Fatal(err)
	case err != nil:
		return nil, findings.String()
	}
	return p.Graph, fmt.Sprintf("%s  %d elements, %d segments\n", findings, len(p.Graph.Nodes), len(p.Result.Program.Segments))
}

// step is a packet, and what becomes of it, or time that passes.
type step struct {
	line    int
	in      string
	want    []string
	advance time.Duration
}

func stepsOf(text string) (steps []step) {
	for i, line := range strings.Split(text, "\n") {
		mark, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		switch mark {
		case "//<":
			steps = append(steps, step{line: i + 1, in: rest})
		case "//>", "//!":
			s := &steps[len(steps)-1]
			s.want = append(s.want, mark[2:]+" "+rest)
		case "//+":
			d, err := time.ParseDuration(rest)
			if err != nil {
				panic(err)
			}
			steps = append(steps, step{line: i + 1, advance: d})
		}
	}
	return steps
}

// follow sends the packets through the oracle.
func follow(t *testing.T, g *graph.Graph, steps []step) {
	t.Helper()
	c := interp.New(g, interp.Options{})
	ports := map[string]string{} // those that were chosen
	now := time.Duration(0)
	for _, s := range steps {
		now += s.advance
		if s.in == "" {
			continue
		}
		p := parse(t, s.in, ports)
		in := slices.IndexFunc(g.Interfaces, func(i graph.Interface) bool { return i.Name == p.iface })
		if in < 0 {
			t.Fatalf("line %d: no interface %s", s.line, p.iface)
		}
		r := c.Process(now, in, p.frame(g, in), nil)
		var got []string
		for _, o := range r.Out {
			got = append(got, "> "+describe(g, o))
		}
		for _, d := range r.Drops {
			got = append(got, "! "+d.Reason)
		}
		slices.SortStableFunc(got, byMark)
		slices.SortStableFunc(s.want, byMark)
		if len(s.want) != len(got) {
			t.Errorf("line %d: %s:\ngot  %s\nwant %s", s.line, s.in, strings.Join(got, "\n     "), strings.Join(s.want, "\n     "))
			continue
		}
		for i, w := range s.want {
			if mark, text, _ := strings.Cut(w, " "); mark == ">" {
				w = "> " + learn(t, text, got[i], ports).String()
			}
			if w != got[i] {
				t.Errorf("line %d: %s:\ngot  %s\nwant %s", s.line, s.in, got[i], w)
			}
		}
	}
}

// byMark has packets that leave before those that are dropped.
func byMark(a, b string) int { return strings.Compare(b[:1], a[:1]) }

// learn reads a packet that leaves. Ports that were chosen are taken from what left.
func learn(t *testing.T, text, got string, ports map[string]string) packet {
	t.Helper()
	wanted := strings.Fields(text)
	seen := strings.Fields(strings.TrimPrefix(got, "> "))
	for i, w := range wanted {
		_, name, chosen := strings.Cut(w, "$")
		if !chosen || len(seen) <= i {
			continue
		}
		if _, known := ports[name]; !known {
			ports[name] = seen[i][strings.LastIndexAny(seen[i], ":=")+1:]
		}
	}
	p := parse(t, text, ports)
	if !p.via.IsValid() {
		p.via = p.dst.Addr()
	}
	return p
}

// packet is a packet as the comments write it.
type packet struct {
	iface, proto    string
	src, dst        netip.AddrPort
	ttl, dscp, frag int
	flags           string
	typ, code, id   int
	via             netip.Addr
}

func (p packet) String() string {
	s := p.iface + " " + p.proto + " "
	switch p.proto {
	case "tcp", "udp":
		s += fmt.Sprintf("%s %s", p.src, p.dst)
	case "icmp":
		s += fmt.Sprintf("%s %s type=%d code=%d id=%d", p.src.Addr(), p.dst.Addr(), p.typ, p.code, p.id)
	default:
		s += fmt.Sprintf("%s %s", p.src.Addr(), p.dst.Addr())
	}
	if p.proto == "tcp" {
		s += " flags=" + p.flags
	}
	return s + fmt.Sprintf(" ttl=%d dscp=%d via=%s", p.ttl, p.dscp, p.via)
}

var protocols = map[string]uint8{"icmp": 1, "igmp": 2, "tcp": 6, "udp": 17, "gre": 47, "esp": 50}

const flagLetters = "FSRPAU"

// parse reads "interface protocol source destination key=value…".
func parse(t *testing.T, text string, ports map[string]string) packet {
	t.Helper()
	for name, port := range ports {
		text = strings.ReplaceAll(text, "$"+name, port)
	}
	words := strings.Fields(text)
	p := packet{iface: words[0], proto: words[1], ttl: 64}
	if _, known := protocols[p.proto]; !known {
		t.Fatalf("%s: unknown protocol", text)
	}
	p.src, p.dst = endpoint(t, words[2]), endpoint(t, words[3])
	if p.proto == "tcp" {
		p.flags = "S"
	}
	for _, w := range words[4:] {
		key, value, _ := strings.Cut(w, "=")
		number := map[string]*int{"ttl": &p.ttl, "dscp": &p.dscp, "frag": &p.frag, "type": &p.typ, "code": &p.code, "id": &p.id}[key]
		switch {
		case number != nil:
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			*number = n
		case key == "flags":
			p.flags = value
		case key == "via":
			p.via = netip.MustParseAddr(value)
		default:
			t.Fatalf("%s: unknown key %s", text, key)
		}
	}
	return p
}

func endpoint(t *testing.T, s string) netip.AddrPort {
	t.Helper()
	if !strings.Contains(s, ":") {
		s += ":0"
	}
	e, err := netip.ParseAddrPort(s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func number(a netip.Addr) uint32 { b := a.As4(); return binary.BigEndian.Uint32(b[:]) }

// frame is the packet as it comes in by an interface.
func (p packet) frame(g *graph.Graph, in int) []byte {
	f := packets.Fields{
		VLAN: -1, Src: number(p.src.Addr()), Dst: number(p.dst.Addr()), Proto: protocols[p.proto], DSCP: uint8(p.dscp), TTL: uint8(p.ttl), Frag: p.frag,
		Sport: p.src.Port(), Dport: p.dst.Port(), Type: uint8(p.typ), Code: uint8(p.code), ICMPRest: uint32(p.id) << 16,
	}
	for i, l := range flagLetters {
		if strings.ContainsRune(p.flags, l) {
			f.Flags |= 1 << i
		}
	}
	mac := packets.MAC{0x02, 0x73, 0x6e, 0, 0, byte(in)}
	if own := g.Interfaces[in].MAC; own != nil {
		mac = packets.MAC(own)
	}
	return packets.Build(rand.New(rand.NewPCG(uint64(in), 1)), mac, packets.MAC{2, 0, 0, 0, 0, 0xaa}, f, []byte("sixteen bytes of"))
}

// describe is a frame that leaves, as the comments write it.
func describe(g *graph.Graph, o interp.Out) string {
	f, ok := packets.FieldsOf(o.Frame)
	if !ok {
		return "no packet"
	}
	p := packet{iface: g.Interfaces[o.Interface].Name, proto: fmt.Sprint(f.Proto), ttl: int(f.TTL), dscp: int(f.DSCP), via: o.NextHop, typ: int(f.Type), code: int(f.Code)}
	for name, n := range protocols {
		if n == f.Proto {
			p.proto = name
		}
	}
	p.src, p.dst = netip.AddrPortFrom(packets.Addr(f.Src), f.Sport), netip.AddrPortFrom(packets.Addr(f.Dst), f.Dport)
	if p.typ == 0 || p.typ == 8 {
		p.id = int(f.ICMPRest >> 16)
	}
	for i, l := range flagLetters {
		if f.Flags>>i&1 == 1 {
			p.flags += string(l)
		}
	}
	return p.String()
}
