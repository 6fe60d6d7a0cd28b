// Package compile turns a chain of the cluster into its packet program: the same
// compiler as sinterctl's, shared by the controller and the webhook. It is pure: what
// the chain refers to is handed in.
package compile

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/compiler"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/footprint"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"github.com/sinter-nfv/sinter/dataplane/tables"
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
	// Stored is the unpacked text of an object of a store, and StoredBytes what all those of the chain have.
	Stored      func(*v1alpha1.StoreObject) ([]byte, error)
	StoredBytes int
	// Session has the chain as it was compiled last, and keeps this; nil: nothing is known of it. The result is the same.
	Session *Session
}

// Session compiles a chain again and again: a small change takes less time than the first compile. The zero Session is ready. It is not for
// concurrent use.
type Session struct {
	texts  rules.Memory
	tables tables.Memory
	synth  synth.Session
}

// StoreObjects are the texts that a chain takes from stores.
func StoreObjects(c *v1alpha1.ServiceChain, functions []*v1alpha1.NetworkFunction) (out []*v1alpha1.StoreObject) {
	for f := range Kinds(c, functions) {
		if f.Router == nil {
			continue
		}
		for _, from := range f.Router.RoutesFrom {
			if from.Store != nil {
				out = append(out, from.Store)
			}
		}
	}
	return out
}

// Kinds are what the functions of a chain are, its own and those it refers to.
func Kinds(c *v1alpha1.ServiceChain, functions []*v1alpha1.NetworkFunction) iter.Seq[*v1alpha1.FunctionKinds] {
	return func(yield func(*v1alpha1.FunctionKinds) bool) {
		for i := range c.Spec.Functions {
			if !yield(&c.Spec.Functions[i].FunctionKinds) {
				return
			}
		}
		for _, f := range Used(c, functions) {
			if !yield(&f.Spec.FunctionKinds) {
				return
			}
		}
	}
}

// Outcome is a program, or why there is none.
type Outcome struct {
	Program *Program
	// Reason and Message are those of the condition Synthesized.
	Reason, Message string
	Findings        finding.List
	// Again: a store did not give a text, which may change without any change of the chain.
	Again bool
}

// Program is a program ready to be kept.
type Program struct {
	Hash    string
	Packed  []byte
	Classes int32
	// TableMemoryMiB is what an agent needs to build the program's tables of routes.
	TableMemoryMiB int32
	// FlowMemoryMiB is what an agent needs to gather flows that are exported.
	FlowMemoryMiB int32
	// EngineMemoryMiB is what an engine needs beside CoreMemoryMiB for each core; StateMemoryMiB of it is for state.
	EngineMemoryMiB, CoreMemoryMiB, StateMemoryMiB int32
	Interfaces                                     []v1alpha1.Name
}

// Name of the ChainProgram: chain and hash.
func (p *Program) Name(chain string) string { return chain + "-" + p.Hash[:10] }

// Chain compiles a chain that has its defaults set, as the API server does.
func Chain(c *v1alpha1.ServiceChain, in Inputs) Outcome {
	o := compiled(c, in)
	o.Again = slices.ContainsFunc(o.Findings, notInStore)
	return o
}

func compiled(c *v1alpha1.ServiceChain, in Inputs) Outcome {
	if found := in.Policy.check(c, in.Functions); found.HasErrors() {
		return Outcome{Reason: v1alpha1.ReasonInvalid, Message: Summary(found), Findings: found}
	}
	files, found := readTexts(c, in)
	c, functions, missing := resolved(c, in)
	compiled, more, err := in.Session.compile(compiler.Sources{Chain: c, Functions: functions, Files: files, Tables: &tables.Memory{}})
	found = append(append(found, missing...), more...)
	if found.HasErrors() {
		return Outcome{Reason: v1alpha1.ReasonInvalid, Message: Summary(found.Errors()), Findings: found}
	}
	if err != nil {
		return failed(found, v1alpha1.ReasonSynthesisFailed, err.Error())
	}
	memory := footprint.Of(compiled.Result.Program, compiled.Result.Tables)
	if f := memory.Check(c, compiled.Result.Tables); f != nil {
		found = append(found, *f)
	}
	if found.HasErrors() {
		return Outcome{Reason: v1alpha1.ReasonInvalid, Message: Summary(found.Errors()), Findings: found}
	}
	p, err := pack(compiled)
	if err != nil {
		return failed(found, v1alpha1.ReasonSynthesisFailed, err.Error())
	}
	p.EngineMemoryMiB, p.CoreMemoryMiB, p.StateMemoryMiB = footprint.MiB(memory.Total(0)), footprint.MiB(memory.Core), footprint.MiB(memory.State+memory.Decisions)
	if err := delivery.Fits(p.Packed); err != nil {
		return failed(found, v1alpha1.ReasonTooLarge, err.Error())
	}
	message := fmt.Sprintf("%d traffic classes", p.Classes)
	if n := len(compiled.Result.Tables); n > 0 {
		p.TableMemoryMiB = agentMemory(in.StoredBytes)
		message += fmt.Sprintf("; tables of routes from stores: %d", n)
	}
	if exportsFlows(compiled.Result.Program) {
		p.FlowMemoryMiB = flowMemoryMiB
	}
	if cuts := compiled.Result.Cuts; len(cuts) > 0 {
		message += "; " + cutsOf(cuts)
	}
	if w := found.Warnings(); len(w) > 0 {
		message += "; " + Summary(w)
	}
	return Outcome{Program: p, Reason: v1alpha1.ReasonCompiled, Message: message, Findings: found}
}

// compile compiles the sources, by what the session has of them before; nil: nothing.
func (s *Session) compile(from compiler.Sources) (*compiler.Program, finding.List, error) {
	if s == nil {
		return compiler.Compile(from)
	}
	s.texts.Forget()
	from.Tables = &s.tables
	return compiler.CompileAgain(&s.synth, from)
}

func failed(found finding.List, reason, message string) Outcome {
	return Outcome{Reason: reason, Message: message, Findings: append(found, finding.Finding{Code: finding.NotCompiled, Message: message})}
}

// flowMemoryMiB is what an agent takes with as many flows as it gathers (flows.MaxFlows), and their
// records on their way.
const flowMemoryMiB = 96

func exportsFlows(p *programpb.Program) bool {
	return slices.ContainsFunc(p.GetObservations(), func(o *programpb.Observation) bool { return o.GetExport() != nil })
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

// told is how many findings a message has room for, toldCuts how many cuts.
const (
	told     = 10
	toldCuts = 5
)

// cutsOf is where the chain is divided into several look-ups, as a condition's message tells it.
func cutsOf(cuts []synth.Cut) string {
	var lines []string
	for i, c := range cuts {
		if i == toldCuts {
			lines = append(lines, fmt.Sprintf("and %d more look-ups of their own", len(cuts)-i))
			break
		}
		lines = append(lines, c.String())
	}
	return strings.Join(lines, "; ")
}

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
