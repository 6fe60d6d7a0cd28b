package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/test/packets"
)

// fragmentRows are a router and a firewall without state that get non-first fragments alone: their ports are absent, which is a value like others.
func fragmentRows(data string) []row {
	return []row{
		{Group: "fragments", Name: "fragments-routers-1-10k", N: 1, chain: fixed(routers(1)), traffic: laterFragments(mixed(10_000, frameSize)), Bound: 1.8},
		{
			Group: "fragments", Name: "fragments-acl1-8550-64k", N: 1, chain: fixed(functions{firewall("fw", rulesFile(data, "acl1_8550"))}),
			traffic: acceptedFragments(data, "acl1_8550", 64_000),
		},
	}
}

// laterFragments is each packet of a traffic as a fragment that is not the first.
func laterFragments(t traffic) traffic {
	whole := t.packets
	t.name, t.packets = t.name+"-later", func() ([][]byte, error) {
		frames, err := whole()
		if err != nil {
			return nil, err
		}
		out := make([][]byte, len(frames))
		for i, f := range frames {
			out[i] = laterFragment(f)
		}
		return out, nil
	}
	return t
}

// laterFragment is a frame whose packet begins 1,480 bytes into a datagram.
func laterFragment(frame []byte) []byte {
	ip := frame[14:]
	p := packets.IPv4{
		Src: binary.BigEndian.Uint32(ip[12:]), Dst: binary.BigEndian.Uint32(ip[16:]), TTL: ip[8], Proto: ip[9], Offset: 1480 / 8,
		Payload: ip[20:binary.BigEndian.Uint16(ip[2:])],
	}
	return append(append(slices.Clone(frame[:14]), p.Bytes()...), ip[20+len(p.Payload):]...)
}

// acceptedFragments is n fragments, none of them the first of its datagram, that the firewall of a rule set accepts: by rules that ask for no port.
func acceptedFragments(data, set string, n int) traffic {
	return traffic{name: fmt.Sprintf("%s-%d-later", set, n), flows: n, packets: func() ([][]byte, error) {
		rules, err := readRules(rulesFile(data, set))
		if err != nil {
			return nil, err
		}
		r := rand.New(rand.NewPCG(6, uint64(n)))
		var out [][]byte
		for turn := 0; len(out) < n; turn++ {
			if turn > 1000*n {
				return nil, fmt.Errorf("found only %d fragments that the rules accept", len(out))
			}
			p, ok := sample(r, rules.list[2*turn%len(rules.list)].Filter, packets.ProtoTCP)
			if !ok {
				continue
			}
			later := p
			later[headerspace.Frag] = headerspace.V(headerspace.FragLater)
			for _, f := range []headerspace.Field{headerspace.SPort, headerspace.DPort, headerspace.TCPFlags} {
				later[f], _ = f.Absent()
			}
			if rules.accepts(&later) {
				out = append(out, laterFragment(frameOf(&p)))
			}
		}
		return out, nil
	}}
}
