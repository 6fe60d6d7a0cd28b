package click

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/sinter-nfv/sinter/api/click"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	both := headerspace.Of(6, 17)
	for name, protocols := range map[string]headerspace.Set{"IPRewriter": both, "TCPRewriter": headerspace.Of(6), "UDPRewriter": headerspace.Of(17)} {
		of := []headerspace.Filter{headerspace.Filter{}.With(headerspace.Proto, protocols)}
		register("1-/1-", configureRewriter(of, of), enterRewriter, name)
	}
	register("1-/1-", configureRewriter(ofICMP(8), ofICMP(0)), enterRewriter, "ICMPPingRewriter")
	register("1-/1-", configureAddressRewriter, enterRewriter, "IPAddrRewriter", "IPAddrPairRewriter")
	register("1/1-2", configureErrors, enterErrors, "ICMPRewriter")
	refused["RoundRobinIPMapper"] = "destinations of flows are not rewritten in turn; use a loadBalancer function, to which this configuration's port is linked, and take the element out"
}

func ofICMP(types ...uint64) []headerspace.Filter {
	return []headerspace.Filter{headerspace.Filter{}.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(types...))}
}

// rewritePattern is "SADDR SPORT DADDR DPORT" of which source address and port are rewritten. None of it is: packets are kept as they are.
type rewritePattern struct {
	first, last netip.Addr
	low, high   int
}

func (p rewritePattern) keeps() bool { return !p.first.IsValid() }

// pool is the set of the addresses.
func (p rewritePattern) pool() headerspace.Set { return headerspace.AddrRange(p.first, p.last) }

// specKind is what an input of a rewriter does with packets of no known flow.
type specKind int

const (
	specDrop specKind = iota
	specPass
	specKeep
	specPattern
)

// inputSpec is an INPUTSPEC of a rewriter.
type inputSpec struct {
	kind           specKind
	pattern        rewritePattern
	forward, reply int // outputs
	at             click.Arg
}

// rewriter is a rewriter's configuration.
type rewriter struct {
	specs []inputSpec
	// requests are the packets that begin a flow, replies those that answer them.
	requests, replies []headerspace.Filter
	timeouts          v1alpha1.NAPTTimeouts
	capacity          int
	// stale says that the destination annotation is not set to the new destination.
	stale bool
	// errors are the rewriters whose flows ICMP errors are about; of an ICMPRewriter.
	errors []string
	// of are the translations that it has a part in.
	of []*translation
}

// readPatterns reads an IPRewriterPatterns.
func (l *lowerer) readPatterns(r *reader) {
	for _, a := range r.all {
		words := strings.Fields(unquoted(a.Text))
		if len(words) < 3 {
			r.fail(a, a.Text, "write a name and a pattern, like IPRewriterPatterns(nat 192.0.2.1 1024-65535 - -)")
			continue
		}
		if _, twice := l.patterns[words[0]]; twice {
			r.fail(a, words[0], "the name is taken by another pattern; patterns need names of their own")
		}
		if p, ok := r.pattern(a, words[1:]); ok {
			l.patterns[words[0]] = p
		}
	}
}

// pattern reads "SADDR SPORT DADDR DPORT".
func (r *reader) pattern(a click.Arg, words []string) (p rewritePattern, ok bool) {
	const like = `write "address ports - -", like "192.0.2.1 1024-65535 - -"`
	if len(words) != 4 {
		r.fail(a, strings.Join(words, " "), "not a pattern of source address, source port, destination address and destination port; "+like)
		return p, false
	}
	if words[2] != "-" || words[3] != "-" {
		r.fail(a, strings.Join(words, " "), "rewrites the destination, which only a loadBalancer function does; write - for destination address and port, and link a loadBalancer")
		return p, false
	}
	if words[0] == "-" && words[1] == "-" {
		return p, true
	}
	if words[0] == "-" || words[1] == "-" {
		r.fail(a, strings.Join(words, " "), "source addresses are rewritten together with ports; "+like)
		return p, false
	}
	if p.first, p.last, ok = r.addressRange(strings.TrimRight(words[0], "#?")); !ok {
		r.fail(a, words[0], "not an address or a range of them; "+like)
		return p, false
	}
	low, high, ranged := strings.Cut(strings.TrimRight(words[1], "#?"), "-")
	if !ranged {
		high = low
	}
	if _, err := fmt.Sscanf(low+" "+high, "%d %d", &p.low, &p.high); err != nil || p.low < 1 || p.high > 65535 || p.low > p.high {
		r.fail(a, words[1], "not a port or a range of ports from 1 to 65535; "+like)
		return p, false
	}
	return p, true
}

func (r *reader) addressRange(s string) (first, last netip.Addr, ok bool) {
	if a, ok := r.addressOf(s); ok {
		return a, a, true
	}
	if low, high, ranged := strings.Cut(s, "-"); ranged {
		a, ok1 := r.addressOf(low)
		b, ok2 := r.addressOf(high)
		return a, b, ok1 && ok2 && !b.Less(a)
	}
	return first, last, false
}

func configureRewriter(requests, replies []headerspace.Filter) func(*reader) *rewriter {
	return func(r *reader) *rewriter {
		w := &rewriter{requests: requests, replies: replies}
		w.timeouts = v1alpha1.NAPTTimeouts{TCP: "24h", TCPTransitory: "4m", UDP: "5m", ICMP: "5m"}
		r.ignore("TCP_NODATA_TIMEOUT", "TCP_GUARANTEE", "UDP_GUARANTEE", "UDP_STREAMING_TIMEOUT", "GUARANTEE", "REAP_INTERVAL", "REAP_TIME", "REAP_TCP", "REAP_UDP")
		for keyword, to := range map[string]*v1alpha1.Duration{
			"TCP_TIMEOUT": &w.timeouts.TCP, "TCP_DONE_TIMEOUT": &w.timeouts.TCPTransitory, "UDP_TIMEOUT": &w.timeouts.UDP, "TIMEOUT": &w.timeouts.ICMP,
		} {
			if a, ok := r.keyword(keyword); ok {
				t, err := seconds(a.Text)
				if err != nil || t < time.Second || t > 7*24*time.Hour {
					r.fail(a, a.Text, "not a timeout; write seconds, or a time like 5min, from 1s to 168h")
				}
				*to = v1alpha1.Duration(t.String())
			}
		}
		for _, keyword := range []string{"CAPACITY", "MAPPING_CAPACITY"} {
			if a, ok := r.keyword(keyword); ok {
				w.capacity, _ = r.number(a, "a number of mappings", 1, 100_000_000)
			}
		}
		w.stale = !r.boolean("DST_ANNO", true)
		r.inputSpecs(w)
		return w
	}
}

// inputSpecs reads the INPUTSPECs, one for each input.
func (r *reader) inputSpecs(w *rewriter) {
	args := r.all
	r.all = nil
	for _, a := range args {
		w.specs = append(w.specs, r.inputSpec(a))
	}
	if n := r.ins[r.element]; n != len(args) {
		r.fail(r.whole(), "", "has %s and %s connected; write an argument for each input", count(len(args), "input specification"), count(n, "input"))
	}
	keeps, patterns := 0, 0
	for _, s := range w.specs {
		keeps += map[bool]int{true: 1}[s.kind == specKeep]
		patterns += map[bool]int{true: 1}[s.kind == specPattern]
	}
	if keeps > 0 && patterns > 0 {
		r.fail(r.whole(), "", "has inputs that keep and inputs that rewrite; use a rewriter for each")
	}
}

func (r *reader) inputSpec(a click.Arg) (s inputSpec) {
	s.at = a
	words := strings.Fields(unquoted(a.Text))
	if len(words) == 0 {
		r.fail(a, a.Text, `is empty; write "pattern ...", "keep 0 1", "pass 0" or "drop"`)
		return s
	}
	outputs := func(list []string) {
		for i, to := range []*int{&s.forward, &s.reply}[:len(list)] {
			if n, err := fmt.Sscanf(list[i], "%d", to); n != 1 || err != nil || *to < 0 || *to >= r.nouts[r.element] {
				r.fail(a, list[i], "not an output that is connected; it has %s", count(r.nouts[r.element], "output"))
				*to = 0
			}
		}
	}
	switch rest := words[1:]; {
	case (words[0] == "drop" || words[0] == "discard") && len(rest) == 0:
	case (words[0] == "pass" || words[0] == "passthrough" || words[0] == "nochange") && len(rest) <= 1:
		s.kind = specPass
		outputs(rest)
	case words[0] == "keep" && len(rest) == 2:
		s.kind = specKeep
		outputs(rest)
	case (words[0] == "pattern" || words[0] == "xpattern") && len(rest) >= 3:
		s.kind = specPattern
		outputs(rest[len(rest)-2:])
		s.pattern = r.namedPattern(a, rest[:len(rest)-2])
		if s.pattern.keeps() {
			s.kind = specKeep
		}
	case len(rest) == 0 && slices.ContainsFunc(r.config.Elements, func(e click.Element) bool { return e.Name == words[0] }):
		r.fail(a, a.Text, "flows are not rewritten by what another element says; use a loadBalancer function")
	default:
		r.fail(a, a.Text, `not an input specification; write "pattern address ports - - 0 1", "keep 0 1", "pass 0" or "drop"`)
	}
	return s
}

func (r *reader) namedPattern(a click.Arg, words []string) rewritePattern {
	if len(words) != 1 {
		p, _ := r.pattern(a, words)
		return p
	}
	p, ok := r.patterns[words[0]]
	if !ok {
		r.fail(a, words[0], "no pattern of this name is known; write IPRewriterPatterns(%s 192.0.2.1 1024-65535 - -)", words[0])
	}
	return p
}

// configureAddressRewriter: addresses alone are not rewritten. What remains is to pass or to drop packets.
func configureAddressRewriter(r *reader) *rewriter {
	for _, a := range r.all {
		if words := strings.Fields(unquoted(a.Text)); len(words) > 0 && (words[0] == "pattern" || words[0] == "keep") {
			r.fail(a, a.Text, "addresses are not rewritten without ports; use IPRewriter(pattern address ports - - 0 1)")
			r.all = nil
			return &rewriter{}
		}
	}
	w := configureRewriter(everyPacket, everyPacket)(r)
	w.requests = everyPacket
	return w
}
