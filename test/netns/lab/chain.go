package lab

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/compiler"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth"
)

// Parse reads the chain of a file.
func Parse(t testing.TB, path string) *manifest.Bundle {
	t.Helper()
	b, found := manifest.Load(path)
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return b
}

// ParseText reads the chain of a text.
func ParseText(t testing.TB, text string) *manifest.Bundle {
	t.Helper()
	b, found := manifest.Parse("chain.yaml", []byte(text), os.ReadFile)
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return b
}

// Program is a chain's packet program.
type Program struct {
	*programpb.Program
	Encoded []byte
	Hash    string
	// Took is the time of each step.
	Took struct{ Build, Synthesize time.Duration }
}

// Compile makes the program of a parsed chain.
func Compile(t testing.TB, b *manifest.Bundle) *Program {
	t.Helper()
	return CompileAgain(t, new(synth.Session), b)
}

// CompileAgain makes the program of the next version of a session's chain.
func CompileAgain(t testing.TB, s *synth.Session, b *manifest.Bundle) *Program {
	t.Helper()
	chain, err := b.Chain("")
	if err != nil {
		t.Fatal(err)
	}
	p := new(Program)
	watch := time.Now()
	lap := func(d *time.Duration) { now := time.Now(); *d = now.Sub(watch); watch = now }
	g, found := compiler.Lower(compiler.Sources{Chain: chain, Functions: b.Functions, Files: b.Files})
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	lap(&p.Took.Build)
	c, err := compiler.SynthesizeAgain(s, g)
	if err != nil {
		t.Fatal(err)
	}
	p.Program, p.Encoded, p.Hash = c.Result.Program, c.Encoded, c.Hash
	lap(&p.Took.Synthesize)
	return p
}

// Encode encodes a program that was changed after it was compiled.
func (p *Program) Encode(t testing.TB) {
	t.Helper()
	encoded, err := program.Encode(p.Program)
	if err != nil {
		t.Fatal(err)
	}
	p.Encoded, p.Hash = encoded, program.Hash(encoded)
}

// Load puts a program into force.
func (e *Engine) Load(t testing.TB, p *Program) *controlpb.Loaded {
	t.Helper()
	l, err := e.Client.Load(context.Background(), p.Encoded, p.Hash)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
