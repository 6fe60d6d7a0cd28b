package program

import (
	"encoding/hex"
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/fib"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// Limits of what a FIB is built from.
const (
	maxTexts = 64
	maxURL   = 1024
)

// FIBSource writes what a FIB is built from; nil: it comes to the engine with the program.
func FIBSource(s *fib.Source) *programpb.FibSource {
	if s == nil {
		return nil
	}
	out := &programpb.FibSource{Number: make([]uint32, len(s.Numbers))}
	for i, n := range s.Numbers {
		out.Number[i] = uint32(n)
	}
	for _, r := range s.Own {
		out.Address, out.Length, out.Origin = append(out.Address, r.Addr), append(out.Length, uint32(r.Bits)), append(out.Origin, uint32(r.Origin))
	}
	for _, t := range s.Texts {
		sum, _ := hex.DecodeString(t.SHA256) // the API has seen to it that it is hexadecimal; else no text has it
		out.Texts = append(out.Texts, &programpb.FibText{Url: t.URL, Sha256: sum, Origin: uint32(t.Origin)})
	}
	return out
}

// ReadFIBSource reads what the program's FIB of a number is built from. Engines do not read it, so Validate does not judge it.
func ReadFIBSource(p *programpb.Program, i int) (*fib.Source, error) {
	f, at := p.GetFibs()[i], fmt.Sprintf("fibs[%d]: source", i)
	from := f.GetSource()
	if from == nil {
		return nil, fmt.Errorf("%s: the program does not say what the table of routes is built from: it is one of sinterctl run, which brings tables itself", at)
	}
	routes, origins := len(from.GetAddress()), len(from.GetNumber())
	switch {
	case len(from.GetLength()) != routes || len(from.GetOrigin()) != routes:
		return nil, fmt.Errorf("%s: %d addresses with %d lengths and %d origins, want as many of each", at, routes, len(from.GetLength()), len(from.GetOrigin()))
	case origins > MaxNextHops:
		return nil, fmt.Errorf("%s: there are %d origins, want at most %d", at, origins, MaxNextHops)
	case len(from.GetTexts()) > maxTexts:
		return nil, fmt.Errorf("%s: there are %d texts, want at most %d", at, len(from.GetTexts()), maxTexts)
	}
	out := &fib.Source{}
	for _, n := range from.GetNumber() {
		if err := rule.AtMost(at, "number", n, f.GetNextHops()); err != nil {
			return nil, err
		}
		out.Numbers = append(out.Numbers, uint16(n))
	}
	for k, a := range from.GetAddress() {
		length, origin := from.GetLength()[k], from.GetOrigin()[k]
		if err := rule.First(rule.AtMost(at, "length", length, 32), rule.Index(at, "origin", origin, origins)); err != nil {
			return nil, err
		}
		r := fib.Route{Addr: a, Bits: uint8(length), Origin: uint16(origin)}
		if r.Addr&^uint32(uint64(1)<<(32-length)-1) != r.Addr {
			return nil, fmt.Errorf("%s: route %s has bits beyond its length", at, r)
		}
		out.Own = append(out.Own, r)
	}
	for _, t := range from.GetTexts() {
		if err := rule.Index(at, "origin", t.GetOrigin(), origins); err != nil {
			return nil, err
		}
		if n := len(t.GetSha256()); n != 32 || len(t.GetUrl()) > maxURL {
			return nil, fmt.Errorf("%s: text %.80q has a URL of %d bytes and a hash of %d, want at most %d and 32", at, t.GetUrl(), len(t.GetUrl()), n, maxURL)
		}
		out.Texts = append(out.Texts, fib.Text{URL: t.GetUrl(), SHA256: hex.EncodeToString(t.GetSha256()), Origin: uint16(t.GetOrigin())})
	}
	return out, nil
}
