package delivery_test

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/compiler"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// sample is the program of the sample chain.
func sample(t *testing.T) *delivery.Program {
	t.Helper()
	bundle, found := manifest.Load("../../config/samples/edge.yaml")
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	p, _, err := compiler.Compile(compiler.Sources{Chain: bundle.Chains[0], Functions: bundle.Functions, Files: bundle.Files})
	if err != nil {
		t.Fatal(err)
	}
	checked, err := delivery.Check(p.Encoded, p.Hash)
	if err != nil {
		t.Fatal(err)
	}
	return checked
}

func packed(t *testing.T, b []byte) []byte {
	t.Helper()
	out, err := delivery.Pack(b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// chainProgram is a program as the operator delivers it.
func chainProgram(t *testing.T, p *delivery.Program) *v1alpha1.ChainProgram {
	t.Helper()
	return &v1alpha1.ChainProgram{Spec: v1alpha1.ChainProgramSpec{
		Chain: p.GetChain(), Hash: p.Hash, Schema: program.SchemaVersion, Encoding: v1alpha1.EncodingGzip, Program: packed(t, p.Encoded),
	}}
}

func TestAChainProgramIsTakenOnlyIfItIsWhatItSays(t *testing.T) {
	p := sample(t)
	broken := sample(t)
	broken.Segments[0].Table.Classes[0] = 1 << 20 // there are fewer classes
	broken.Encoded, _ = program.Encode(broken.Program)
	broken.Hash = program.Hash(broken.Encoded)
	tabled := sample(t)
	tabled.Fibs = []*programpb.Fib{{Hash: make([]byte, 32)}}
	tabled.Encoded, _ = program.Encode(tabled.Program)
	tabled.Hash = program.Hash(tabled.Encoded)
	for name, c := range map[string]struct {
		change func(*v1alpha1.ChainProgramSpec)
		want   string
	}{
		"as it should be":              {func(*v1alpha1.ChainProgramSpec) {}, ""},
		"of a newer release":           {func(s *v1alpha1.ChainProgramSpec) { s.Schema = 9 }, "schema: the program's is 9, this agent and its engine know 2"},
		"packed in another way":        {func(s *v1alpha1.ChainProgramSpec) { s.Encoding = "zstd" }, `encoding: "zstd", want gzip`},
		"not packed":                   {func(s *v1alpha1.ChainProgramSpec) { s.Program = p.Encoded }, "not a gzip stream"},
		"cut short":                    {func(s *v1alpha1.ChainProgramSpec) { s.Program = s.Program[:20] }, "gzip stream: unexpected EOF"},
		"of another hash":              {func(s *v1alpha1.ChainProgramSpec) { s.Hash = strings.Repeat("0", 64) }, "damaged or mixed up"},
		"of another chain":             {func(s *v1alpha1.ChainProgramSpec) { s.Chain = "core" }, `chain: the program is of "edge", the object says "core"`},
		"inconsistent in itself":       {func(s *v1alpha1.ChainProgramSpec) { s.Program, s.Hash = packed(t, broken.Encoded), broken.Hash }, "class"},
		"with tables by content":       {func(s *v1alpha1.ChainProgramSpec) { s.Program, s.Hash = packed(t, tabled.Encoded), tabled.Hash }, "fibs[0]: source: the program does not say what the table of routes is built from"},
		"larger than the engine takes": {func(s *v1alpha1.ChainProgramSpec) { s.Program = packed(t, make([]byte, program.MaxEncoded+1)) }, "more than 134217728 bytes when unpacked"},
	} {
		t.Run(name, func(t *testing.T) {
			object := chainProgram(t, p)
			c.change(&object.Spec)
			got, err := delivery.Unpack(object)
			if c.want == "" {
				if err != nil || got.Hash != p.Hash {
					t.Errorf("got %v, %v", got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}
