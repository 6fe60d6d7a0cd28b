// Package program is the packet program that the synthesizer makes and the
// engine runs: its encoding, its identity and its rules of consistency. The
// schema itself is program.proto.
package program

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	_ "github.com/sinter-nfv/sinter/dataplane/module/all/rules" // those of every function
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

//go:generate sh -c "protoc --go_out=programpb --go_opt=paths=source_relative *.proto"

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
	if f := misread(p.ProtoReflect()); f != nil {
		return nil, fmt.Errorf("not a packet program: field %s is of another type", f.FullName())
	}
	if err := Validate(p); err != nil {
		return nil, err
	}
	return p, nil
}

// misread is a field that is there with another type than the schema's, which proto.Unmarshal ignores and the engine's decoder
// refuses; nil: there is none. Fields that the schema does not have are ignored by both.
func misread(m protoreflect.Message) (f protoreflect.FieldDescriptor) {
	for b := m.GetUnknown(); len(b) > 0; {
		number, _, n := protowire.ConsumeField(b)
		if n < 0 {
			break
		}
		if f = m.Descriptor().Fields().ByNumber(number); f != nil {
			return f
		}
		b = b[n:]
	}
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.Message() == nil:
		case field.IsList():
			for i := 0; f == nil && i < v.List().Len(); i++ {
				f = misread(v.List().Get(i).Message())
			}
		default:
			f = misread(v.Message())
		}
		return f == nil
	})
	return f
}

// Hash is the identity of an encoded program: its SHA-256 in hexadecimal.
func Hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
