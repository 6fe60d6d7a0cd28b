// Package program is the packet program that the synthesizer makes and the
// engine runs: its encoding, its identity and its rules of consistency. The
// schema itself is program.proto.
package program

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

//go:generate protoc --go_out=programpb --go_opt=paths=source_relative program.proto

// SchemaVersion is the schema that this release writes and reads. It grows with every
// change after which an old program would be read wrongly.
const SchemaVersion = 2

// MaxEncoded is the most bytes that an encoded program may have: the engine takes it in one message.
const MaxEncoded = 128 << 20

// MaxWay is the most segments that a packet may pass, those of its answers included.
const MaxWay = 1 << 20

// Program is one synthesized service chain.
type Program = programpb.Program

// Encode writes the program; the same program always gives the same bytes.
func Encode(p *programpb.Program) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode program of chain %q: %w", p.GetChain(), err)
	}
	return b, nil
}

// Decode reads a program of this release's schema and validates it.
func Decode(b []byte) (*Program, error) {
	p := new(Program)
	if err := proto.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("not a packet program: %w", err)
	}
	if err := Validate(p); err != nil {
		return nil, err
	}
	return p, nil
}

// Hash is the identity of an encoded program: its SHA-256 in hexadecimal.
func Hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
