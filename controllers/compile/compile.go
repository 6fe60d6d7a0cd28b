// Package compile turns a chain of the cluster into its packet program: the same
// compiler as sinterctl's, shared by the controller and the webhook. It is pure: what
// the chain refers to is handed in.
package compile

import (
	"fmt"
	"strings"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/compiler"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
)

// Inputs is what a chain refers to.
type Inputs struct {
	// Functions are the NetworkFunctions of the chain's namespace.
	Functions []*v1alpha1.NetworkFunction
	// Text is the content of a ConfigMap's key.
	Text func(*v1alpha1.ConfigMapKeyRef) ([]byte, error)
	// Policy is the cluster's.
	Policy Policy
	// Backends are the endpoints of a Service.
	Backends func(*v1alpha1.ServiceRef) ([]v1alpha1.Backend, error)
}

// Outcome is a program, or why there is none.
type Outcome struct {
	Program *Program
	// Reason and Message are those of the condition Synthesized.
	Reason, Message string
	Findings        finding.List
}

// Program is a program ready to be kept.
type Program struct {
	Hash       string
	Packed     []byte
	Classes    int32
	Interfaces []v1alpha1.Name
}

// Name of the ChainProgram: chain and hash.
func (p *Program) Name(chain string) string { return chain + "-" + p.Hash[:10] }

// Chain compiles a chain that has its defaults set, as the API server does.
func Chain(c *v1alpha1.ServiceChain, in Inputs) Outcome {
	if found := in.Policy.check(c); found.HasErrors() {
		return Outcome{Reason: v1alpha1.ReasonInvalid, Message: Summary(found), Findings: found}
	}
	files, found := readTexts(c, in)
	c, functions, missing := resolved(c, in)
	compiled, more, err := compiler.Compile(compiler.Sources{Chain: c, Functions: functions, Files: files})
	found = append(append(found, missing...), more...)
	if found.HasErrors() {
		return Outcome{Reason: v1alpha1.ReasonInvalid, Message: Summary(found.Errors()), Findings: found}
	}
	if err != nil {
		return failed(found, v1alpha1.ReasonSynthesisFailed, err.Error())
	}
	p, err := pack(compiled)
	if err != nil {
		return failed(found, v1alpha1.ReasonSynthesisFailed, err.Error())
	}
	if n := len(p.Packed); n > v1alpha1.MaxProgramBytes {
		return failed(found, v1alpha1.ReasonTooLarge, fmt.Sprintf(
			"the program has %d bytes packed, and an object of the cluster takes %d: use fewer rules, or divide the chain", n, v1alpha1.MaxProgramBytes))
	}
	message := fmt.Sprintf("%d traffic classes", p.Classes)
	if w := found.Warnings(); len(w) > 0 {
		message += "; " + Summary(w)
	}
	return Outcome{Program: p, Reason: v1alpha1.ReasonCompiled, Message: message, Findings: found}
}

func failed(found finding.List, reason, message string) Outcome {
	return Outcome{Reason: reason, Message: message, Findings: append(found, finding.Finding{Code: finding.NotCompiled, Message: message})}
}

func pack(c *compiler.Program) (*Program, error) {
	packed, err := delivery.Pack(c.Encoded)
	if err != nil {
		return nil, err
	}
	out := &Program{Hash: c.Hash, Packed: packed}
	for _, s := range c.Result.Program.GetSegments() {
		out.Classes += int32(len(s.GetClasses()))
	}
	for _, i := range c.Result.Program.GetInterfaces() {
		out.Interfaces = append(out.Interfaces, v1alpha1.Name(i.GetName()))
	}
	return out, nil
}

// told is how many findings a message has room for.
const told = 10

// Summary is findings as a condition's message.
func Summary(list finding.List) string {
	var lines []string
	for i, f := range list {
		if i == told {
			lines = append(lines, fmt.Sprintf("and %d more", len(list)-told))
			break
		}
		line := f.String()
		if f.Object.Kind == v1alpha1.KindServiceChain {
			line = strings.TrimPrefix(line, f.Object.String()+": ") // the condition is of that chain
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}
