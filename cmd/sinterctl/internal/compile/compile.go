// Package compile turns a user's files into a packet program.
package compile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/stores"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/compiler"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/footprint"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"github.com/sinter-nfv/sinter/dataplane/tables"
)

// Chain is a compiled chain.
type Chain struct {
	compiler.Program
	Object   finding.Object
	Findings finding.List // what there is to warn of
	Files    []string     // all that were read, or were named and could not be
	Took     Took

	source *v1alpha1.ServiceChain
	locate func(finding.List) finding.List // says of findings which lines they are about
}

// InCluster is what the operator would refuse, or warn of, that does not matter where one machine runs the chain: what a node has no memory
// for, or an object of the cluster no room.
func (c *Chain) InCluster() (list finding.List) {
	if f := footprint.Of(c.Result.Program, c.Result.Tables).Check(c.source, c.Result.Tables); f != nil {
		list = append(list, *f)
	}
	packed, err := delivery.Pack(c.Encoded)
	if err == nil {
		err = delivery.Fits(packed)
	}
	if err != nil {
		list = append(list, finding.Finding{Object: c.Object, Code: finding.NotCompiled, Message: err.Error()})
	}
	return c.locate(list)
}

// Took is how long the stages took.
type Took struct{ Read, Synthesize time.Duration }

// Input is what to compile.
type Input struct {
	Paths      []string // files and folders
	Chain      string   // its name; empty: the only one
	FilesBelow []string // further folders below which manifests may name files
	Stores     []string // URLs with which those of objects begin that manifests may name
}

func (in Input) load(memory *rules.Memory, from *stores.Stores) (*manifest.Bundle, finding.List) {
	if from == nil {
		from = &stores.Stores{}
	}
	Allow(from, in.Stores)
	return manifest.Options{Memory: memory, FilesBelow: in.FilesBelow, Stores: from}.Load(in.Paths...)
}

// Allow has stores be read that the flag --store names.
func Allow(from *stores.Stores, urls []string) {
	from.Allowed, from.Named = append([]string{}, urls...), "--store"
}

// Graph reads a chain, up to its graph of elements. The error has a line for everything that is wrong; with it, the chain has Object and Files alone.
func Graph(in Input) (*Chain, error) { return graphOf(nil, nil, &tables.Memory{}, in) }

func graphOf(memory *rules.Memory, from *stores.Stores, routes *tables.Memory, in Input) (*Chain, error) {
	began := time.Now()
	bundle, findings := in.load(memory, from)
	read := &Chain{Files: bundle.Sources}
	if err := findings.Sorted().Err(); err != nil {
		return read, err
	}
	sc, err := bundle.Chain(in.Chain)
	if err != nil {
		return read, err
	}
	read.Object = finding.Object{Kind: v1alpha1.KindServiceChain, Namespace: sc.Namespace, Name: sc.Name}
	g, more := compiler.Lower(sources(bundle, sc, routes))
	findings = append(findings, bundle.Locate(more)...).Sorted()
	if err := findings.Err(); err != nil {
		return read, err
	}
	return &Chain{
		Program: compiler.Program{Graph: g}, Object: read.Object, Files: bundle.Sources, Findings: findings.Warnings(),
		Took: Took{Read: time.Since(began)}, source: sc, locate: bundle.Locate,
	}, nil
}

// Files compiles a chain. With an error, the chain is good for its Object and Files alone.
func Files(in Input) (*Chain, error) {
	c, err := Graph(in)
	if err != nil {
		return c, err
	}
	return c, c.synthesize(compiler.Synthesize)
}

// Session compiles files again and again. It keeps what it read last and what came of it, so a small change takes less time than the first
// compile; the result is the same, but that very many routes of a router are in tables that the program has by their hashes alone (synth.Result).
// The zero Session is ready.
type Session struct {
	memory rules.Memory
	stores stores.Stores
	tables tables.Memory
	synth  synth.Session
}

// storesKeep is enough for the texts of the largest tables, in two versions.
const storesKeep = 128 << 20

// Files is as the function of the name.
func (s *Session) Files(in Input) (*Chain, error) {
	s.stores.Keep, s.tables.Any = storesKeep, true
	c, err := graphOf(&s.memory, &s.stores, &s.tables, in)
	if err != nil {
		return c, err
	}
	return c, c.synthesize(func(g *graph.Graph) (*compiler.Program, error) { return compiler.SynthesizeAgain(&s.synth, g) })
}

// Bundle compiles the only chain of objects that are in no files: what is wrong is
// told by object and field.
func Bundle(b *manifest.Bundle) (*Chain, error) {
	began := time.Now()
	sc, err := b.Chain("")
	if err != nil {
		return nil, err
	}
	g, findings := compiler.Lower(sources(b, sc, &tables.Memory{}))
	if err := findings.Sorted().Err(); err != nil {
		return nil, err
	}
	c := &Chain{Program: compiler.Program{Graph: g}, Findings: findings.Sorted().Warnings(), Took: Took{Read: time.Since(began)}}
	return c, c.synthesize(compiler.Synthesize)
}

func sources(b *manifest.Bundle, chain *v1alpha1.ServiceChain, routes *tables.Memory) compiler.Sources {
	return compiler.Sources{Chain: chain, Functions: b.Functions, Files: b.Files, Tables: routes}
}

func (c *Chain) synthesize(how func(*graph.Graph) (*compiler.Program, error)) error {
	began := time.Now()
	p, err := how(c.Graph)
	if err != nil {
		return err
	}
	c.Program = *p
	for _, w := range c.Result.Warnings {
		c.Findings = append(c.Findings, c.located(w))
	}
	c.Took.Synthesize = time.Since(began)
	return nil
}

// Names are the chains of the files.
func Names(in Input) ([]string, error) {
	bundle, findings := in.load(nil, nil)
	if err := findings.Sorted().Err(); err != nil {
		return nil, err
	}
	var names []string
	for _, c := range bundle.Chains {
		name := c.Name
		if c.Namespace != "" {
			name = c.Namespace + "/" + c.Name
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		_, err := bundle.Chain("")
		return nil, err
	}
	return names, nil
}

// Interfaces are the names of a chain's interfaces. What else is wrong with the chain does not matter.
func Interfaces(in Input) ([]string, error) {
	bundle, _ := in.load(nil, nil)
	sc, err := bundle.Chain(in.Chain)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range sc.Spec.Interfaces {
		names = append(names, string(sc.Spec.Interfaces[i].Name))
	}
	return names, nil
}

// Warnings are the findings of the chain as lines for people.
func (c *Chain) Warnings() []string { return Warnings(c.Findings) }

// Warnings are those of a list as lines for people, who are told that they are warnings.
func Warnings(l finding.List) []string {
	var out []string
	for _, f := range l.Warnings() {
		f.Severity = finding.Error // said by whoever prints it
		out = append(out, fmt.Sprint(f))
	}
	return out
}

// located is a warning of the synthesizer, about the rule or the function that it names, where the chain has that itself.
func (c *Chain) located(w synth.Warning) finding.Finding {
	f := finding.Finding{Severity: finding.Warning, Message: w.String()}
	if c.source == nil {
		return f
	}
	function, _, _ := strings.Cut(w.Node, "/")
	for i := range c.source.Spec.Functions {
		is := &c.source.Spec.Functions[i]
		if string(is.Name) != function {
			continue
		}
		f.Object, f.Field = c.Object, fmt.Sprintf("spec.functions[%d]", i)
		if is.Firewall == nil || w.Rule == "" {
			break
		}
		if k := slices.IndexFunc(is.Firewall.Rules, func(r v1alpha1.FirewallRule) bool { return function+"/"+string(r.Name) == w.Rule }); k >= 0 {
			f.Field += fmt.Sprintf(".firewall.rules[%d]", k)
		}
	}
	return c.locate(finding.List{f})[0]
}
