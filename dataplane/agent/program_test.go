package agent

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/program"
)

func packed(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// chainProgram is a program as the operator delivers it.
func chainProgram(t *testing.T, name string, p *Program) *v1alpha1.ChainProgram {
	t.Helper()
	c := &v1alpha1.ChainProgram{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: v1alpha1.ChainProgramSpec{
			Chain: p.GetChain(), Revision: 1, Hash: p.Hash, Schema: program.SchemaVersion,
			Encoding: v1alpha1.EncodingGzip, Program: packed(t, p.Encoded),
		},
	}
	for _, i := range p.GetInterfaces() {
		c.Spec.Interfaces = append(c.Spec.Interfaces, v1alpha1.Name(i.GetName()))
	}
	return c
}

func TestAChainProgramIsTakenOnlyIfItIsWhatItSays(t *testing.T) {
	p := testProgram(t, "a", "in", "out")
	broken := testProgram(t, "broken", "in")
	broken.Segments[0].Table.Classes[0] = 7 // there is one class
	broken.Encoded, _ = program.Encode(broken.Program)
	broken.Hash = program.Hash(broken.Encoded)
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
		"larger than the engine takes": {func(s *v1alpha1.ChainProgramSpec) { s.Program = packed(t, make([]byte, maxUnpacked+1)) }, "more than 134217728 bytes when unpacked"},
	} {
		t.Run(name, func(t *testing.T) {
			object := chainProgram(t, "edge-1", p)
			c.change(&object.Spec)
			got, err := Unpack(object)
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
