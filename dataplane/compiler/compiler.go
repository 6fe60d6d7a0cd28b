// Package compiler turns a service chain into its packet program. The operator, the
// command line and all tests compile with it. It is pure: what the chain refers to is
// handed in, and the same sources give the same bytes.
package compiler

import (
	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"github.com/sinter-nfv/sinter/dataplane/tables"
)

// Sources are a chain and all that it refers to.
type Sources struct {
	// Chain has its defaults set, as the API server and package manifest set them.
	Chain *v1alpha1.ServiceChain
	// Functions are the NetworkFunctions that the chain may refer to.
	Functions []*v1alpha1.NetworkFunction
	// Files are the rule and route files that functions name.
	Files rules.Files
	// Tables has routers keep very many routes in tables by content, as they were built last (tables.Memory); nil: the program has all routes itself.
	Tables *tables.Memory
}

// Program is a compiled chain.
type Program struct {
	Graph   *graph.Graph
	Result  *synth.Result
	Encoded []byte // Result.Program
	Hash    string // of Encoded
}

// Compile compiles the sources. The findings are about the sources and what synthesis warns of. The error says
// why there is no program: the errors among the findings, or what synthesis could not do.
func Compile(s Sources) (*Program, finding.List, error) { return compile(s, Synthesize) }

// CompileAgain is Compile for the next version of a session's chain.
func CompileAgain(session *synth.Session, s Sources) (*Program, finding.List, error) {
	return compile(s, func(g *graph.Graph) (*Program, error) { return SynthesizeAgain(session, g) })
}

func compile(s Sources, synthesize func(*graph.Graph) (*Program, error)) (*Program, finding.List, error) {
	g, found := Lower(s)
	if err := found.Sorted().Err(); err != nil {
		return nil, found, err
	}
	p, err := synthesize(g)
	if err != nil {
		return nil, found, err
	}
	chain := finding.Object{Kind: v1alpha1.KindServiceChain, Namespace: s.Chain.Namespace, Name: s.Chain.Name}
	for _, w := range p.Result.Warnings {
		found = append(found, finding.Finding{Severity: finding.Warning, Object: chain, Message: w.String()})
	}
	return p, found, nil
}

// Lower is the first half of Compile: it checks the sources and makes their graph of elements. With an error among the
// findings there is no graph.
func Lower(s Sources) (*graph.Graph, finding.List) {
	return graph.Build(s.Chain, graph.Inputs{Functions: s.Functions, Files: s.Files, Tables: s.Tables})
}

// Synthesize is the second half of Compile: it makes a graph's program.
func Synthesize(g *graph.Graph) (*Program, error) {
	return encode(synth.Synthesize(g, synth.Options{}))
}

// SynthesizeAgain is Synthesize for the next version of a session's chain.
func SynthesizeAgain(s *synth.Session, g *graph.Graph) (*Program, error) {
	return encode(s.Synthesize(g, synth.Options{}))
}

func encode(result *synth.Result, err error) (*Program, error) {
	if err != nil {
		return nil, err
	}
	encoded, err := program.Encode(result.Program)
	if err != nil {
		return nil, err
	}
	return &Program{Graph: result.Graph(), Result: result, Encoded: encoded, Hash: program.Hash(encoded)}, nil
}
