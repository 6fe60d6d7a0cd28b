// Package delivery is how the operator delivers a packet program to agents: as a
// ChainProgram, packed, and checked when it is unpacked.
package delivery

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/fib"
	"github.com/sinter-nfv/sinter/dataplane/program"
)

// Program is a packet program that was checked.
type Program struct {
	Hash    string
	Encoded []byte
	*program.Program
	// RouteTables are its tables of routes, in its order. It has only their hashes itself, so whoever loads it has to add them.
	RouteTables []RouteTable
}

// RouteTable is a table of routes.
type RouteTable struct {
	*fib.Table
	Routes int // prefixes that it was built from
}

// Contents are the program's tables of routes.
func (p *Program) Contents() []*fib.Table {
	if p == nil {
		return nil
	}
	out := make([]*fib.Table, len(p.RouteTables))
	for i, t := range p.RouteTables {
		out[i] = t.Table
	}
	return out
}

// Fits refuses a packed program that no object of the cluster takes.
func Fits(packed []byte) error {
	if n := len(packed); n > v1alpha1.MaxProgramBytes {
		return fmt.Errorf("the program has %d bytes packed, and an object of the cluster takes %d: use fewer rules, or divide the chain", n, v1alpha1.MaxProgramBytes)
	}
	return nil
}

// Pack packs an encoded program as EncodingGzip says.
func Pack(encoded []byte) ([]byte, error) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(encoded); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// Check checks an encoded program against its hash, and decodes it.
func Check(encoded []byte, hash string) (*Program, error) {
	if got := program.Hash(encoded); got != hash {
		return nil, fmt.Errorf("hash: the program's is %s, want %s: it was damaged or mixed up", got, hash)
	}
	p, err := program.Decode(encoded)
	if err != nil {
		return nil, err
	}
	for i := range p.GetFibs() {
		if _, err := program.ReadFIBSource(p, i); err != nil {
			return nil, err
		}
	}
	return &Program{Hash: hash, Encoded: encoded, Program: p}, nil
}

// Unpack checks a ChainProgram and takes the program out of it.
func Unpack(p *v1alpha1.ChainProgram) (*Program, error) {
	if p.Spec.Schema != program.SchemaVersion {
		return nil, fmt.Errorf("schema: the program's is %d, this agent and its engine know %d: operator and data plane must be of one release",
			p.Spec.Schema, program.SchemaVersion)
	}
	if p.Spec.Encoding != v1alpha1.EncodingGzip {
		return nil, fmt.Errorf("encoding: %q, want %s", p.Spec.Encoding, v1alpha1.EncodingGzip)
	}
	encoded, err := unzip(p.Spec.Program)
	if err != nil {
		return nil, err
	}
	unpacked, err := Check(encoded, p.Spec.Hash)
	if err != nil {
		return nil, err
	}
	if unpacked.GetChain() != p.Spec.Chain {
		return nil, fmt.Errorf("chain: the program is of %q, the object says %q", unpacked.GetChain(), p.Spec.Chain)
	}
	return unpacked, nil
}

func unzip(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("program: not a gzip stream: %w", err)
	}
	b, err := io.ReadAll(io.LimitReader(r, program.MaxEncoded+1))
	if err != nil {
		return nil, fmt.Errorf("program: gzip stream: %w", err)
	}
	if len(b) > program.MaxEncoded {
		return nil, fmt.Errorf("program: more than %d bytes when unpacked", program.MaxEncoded)
	}
	return b, nil
}
