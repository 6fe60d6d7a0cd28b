// Package synth has the meaning of inspection on sets of packets: an operation of the program, and its rules as expressions over bytes.
package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/module/inspect/synth/expression"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

func init() { walk.Register(func(e element.Inspect) walk.Meaning { return inspect{e} }) }

type inspect struct{ element.Inspect }

// Walk: which rules match is known at run time. The DSCP behind is then that of before, or one of the marks.
func (i inspect) Walk(w *walk.Walker, t *walk.Unit, at walk.Arrival) error {
	traits := i.Traits()
	writes := map[headerspace.Field]headerspace.Set{}
	for _, f := range traits.Writes { // the DSCP
		writes[f] = i.Marks().Union(t.Present(f))
	}
	arg := int64(at.Node) << 1
	if i.fromOutside(at.Port) {
		arg |= 1
	}
	if err := w.Act(t, at.Node, walk.Op{Kind: opInspect, Arg: arg}, traits.Reads, writes); err != nil {
		return err
	}
	w.Table(at.Node)
	return w.Follow(t, at.Node, i.Leaves(at.Port), -1)
}

// fromOutside tells whether what comes in by an input comes from outside of the function; it matters to streams alone.
func (i inspect) fromOutside(in int) bool {
	return i.Streams != nil && i.Streams.FromOutside != (in == 1)
}

func (i inspect) Leads(h walk.HopTo, in int, on func(walk.HopTo, int)) { on(h, i.Leaves(in)) }

var opInspect = walk.NewOperation(walk.Operation{
	Write: func(e *walk.Emitter, o walk.Op, says *walk.Leg) *programpb.Op {
		node := int(o.Arg >> 1)
		says.Ops = append(says.Ops, "inspect ("+e.Node(node).Name+")")
		return &programpb.Op{Op: &programpb.Op_Inspect{Inspect: &programpb.Inspect{Table: e.Table(node), FromOutside: o.Arg&1 == 1}}}
	},
	Verdict: true, Lasting: true,
})

// Keep implements Keeping.
func (i inspect) Keep(e *walk.Emitter, t *programpb.StateTable) {
	t.Inspector = &programpb.Inspector{}
	if s := i.Streams; s != nil {
		t.MaxSessions = uint32(s.Known)
		t.Inspector.Streams = &programpb.InspectStreams{
			Depth: uint32(s.Depth), Max: uint32(s.Max), TimeoutMs: walk.Milliseconds(s.Timeout), Full: e.Drop(s.Full).GetChain(),
		}
	}
	for _, r := range i.Rules {
		rule := &programpb.InspectRule{Name: r.Name}
		switch a := r.Action; {
		case a.Drop != "":
			rule.Action = &programpb.InspectRule_Drop{Drop: e.Drop(a.Drop).GetChain()}
		case a.Mark:
			rule.Action = &programpb.InspectRule_Dscp{Dscp: uint32(a.DSCP)}
		}
		for _, p := range r.Parts {
			rule.Parts = append(rule.Parts, inspectPart(p))
		}
		t.Inspector.Rules = append(t.Inspector.Rules, rule)
	}
}

// inspectPart writes a part as an expression whose matches end in a range.
func inspectPart(p element.InspectPart) *programpb.InspectPart {
	part := &programpb.InspectPart{Buffer: programpb.InspectPart_Buffer(p.Buffer)}
	if p.Text == nil {
		part.Expression = expression.OfRegex(p.Regex)
		return part
	}
	part.Expression = expression.OfText(p.Text, p.NoCase)
	if p.AtEnd {
		part.Expression += `\z`
	}
	if p.Offset > 0 {
		part.MinEnd = uint32(p.Offset + len(p.Text))
	}
	if p.Depth > 0 {
		part.MaxEnd = uint32(p.Offset + p.Depth)
	}
	return part
}
