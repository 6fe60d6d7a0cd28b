package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/test/packets"
)

// productRows are firewalls without state in a row, of packets that all of them accept: of headers that come again, and of headers that do not. What most
// rule sets say together fits one look-up; the last three chains stay several.
func productRows(data string) []row {
	var list []row
	for _, c := range []string{
		"acl1_251 acl1_713",
		"acl1_251 router acl1_713",
		"acl1_251 acl1_713 acl1_8550",
		"acl1_713 fw1_713",
		"acl1_8550 fw1_713",
		"acl1_8550 router fw1_713",
		"fw1_713 acl1_8550 router acl1_713 fw1_713 router acl1_8550 acl1_251",
	} {
		var fns functions
		var sets []string
		for i, name := range strings.Fields(c) {
			if name == "router" {
				fns = append(fns, router(fmt.Sprintf("rt%d", i)))
				continue
			}
			fns = append(fns, firewall(fmt.Sprintf("fw%d", i), rulesFile(data, name)))
			if !slices.Contains(sets, name) {
				sets = append(sets, name)
			}
		}
		name := "row-" + dashed(strings.ReplaceAll(c, " ", "-"))
		if len(fns) > 3 {
			name = fmt.Sprintf("row-firewalls-routers-%d", len(fns))
		}
		for _, flows := range []int{64_000, 400_000} {
			r := row{Group: "row", N: len(fns), chain: fixed(fns), traffic: acceptedByAll(data, sets, flows), apart: true}
			if r.traffic.once = flows > 64_000; r.traffic.once {
				r.Name = name + "-new-headers"
			} else {
				r.Name, r.Bound = name+"-"+label(flows), 1.6
			}
			list = append(list, r)
		}
	}
	return list
}

// acceptedByAll is n different headers that the firewalls of several rule sets accept.
func acceptedByAll(data string, sets []string, n int) traffic {
	return traffic{name: fmt.Sprintf("%s-%d", strings.Join(sets, "-"), n), flows: n, packets: func() ([][]byte, error) {
		var all []*firewallRules
		for _, set := range sets {
			f, err := readRules(rulesFile(data, set))
			if err != nil {
				return nil, err
			}
			all = append(all, f)
		}
		return flowsOfAll(rand.New(rand.NewPCG(5, uint64(n))), all, n)
	}}
}

// flowsOfAll is n headers that all firewalls accept, spread over what their accepting rules have in common.
func flowsOfAll(r *rand.Rand, all []*firewallRules, n int) ([][]byte, error) {
	common := commonOf(all, math.MaxInt)
	if len(common) == 0 {
		return nil, errors.New("the rules have no packet in common that all accept")
	}
	var out [][]byte
	for turn := 0; len(out) < n; turn++ {
		if turn > 200*n {
			return nil, fmt.Errorf("found only %d packets that all rules accept", len(out))
		}
		p, ok := sampleOf(r, common[turn%len(common)], turn)
		if ok && acceptedByEach(all, &p) {
			out = append(out, frameOf(&p))
		}
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}

// sampleOf is a packet of a filter; in odd turns of UDP, if there may be both.
func sampleOf(r *rand.Rand, f headerspace.Filter, turn int) (p headerspace.Packet, ok bool) {
	proto, protocols := uint64(packets.ProtoTCP), f.Get(headerspace.Proto)
	if !protocols.Contains(headerspace.V(proto)) || turn%2 == 1 && protocols.Contains(headerspace.V(packets.ProtoUDP)) {
		proto = packets.ProtoUDP
	}
	return sample(r, f, proto)
}

func acceptedByEach(all []*firewallRules, p *headerspace.Packet) bool {
	return !slices.ContainsFunc(all, func(f *firewallRules) bool { return !f.accepts(p) })
}

// commonOf is what accepting rules have in common, one of each firewall. Of more than most choices, that many stand for all.
func commonOf(all []*firewallRules, most int) []headerspace.Filter {
	common := []headerspace.Filter{{}}
	for _, f := range all {
		var next []headerspace.Filter
		for i := 0; i < len(f.list); i += 2 {
			for _, c := range common {
				if !c.Overlaps(f.list[i].Filter) {
					continue
				}
				p, possible := c.Intersect(f.list[i].Filter).Feasible()
				if protocols := p.Get(headerspace.Proto); possible && (protocols.Contains(headerspace.V(packets.ProtoTCP)) || protocols.Contains(headerspace.V(packets.ProtoUDP))) {
					next = append(next, p)
				}
			}
		}
		common = next
		if n := len(next); n > most {
			common = make([]headerspace.Filter, most)
			for i := range common {
				common[i] = next[i*n/most]
			}
		}
	}
	return common
}
