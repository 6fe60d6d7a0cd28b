package agenttest

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Encoded is a program as agents have it.
func Encoded(t *testing.T, p *programpb.Program) *delivery.Program {
	t.Helper()
	encoded, err := program.Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	checked, err := delivery.Check(encoded, program.Hash(encoded))
	if err != nil {
		t.Fatal(err)
	}
	return checked
}

// ChainProgram is a program as the operator delivers it.
func ChainProgram(t *testing.T, name string, p *delivery.Program) *v1alpha1.ChainProgram {
	t.Helper()
	packed, err := delivery.Pack(p.Encoded)
	if err != nil {
		t.Fatal(err)
	}
	c := &v1alpha1.ChainProgram{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: v1alpha1.ChainProgramSpec{
			Chain: p.GetChain(), Revision: 1, Hash: p.Hash, Schema: program.SchemaVersion,
			Encoding: v1alpha1.EncodingGzip, Program: packed,
		},
	}
	for _, i := range p.GetInterfaces() {
		c.Spec.Interfaces = append(c.Spec.Interfaces, v1alpha1.Name(i.GetName()))
	}
	return c
}
