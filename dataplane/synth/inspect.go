package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/expression"
)

func init() { register(func(e element.Inspect) meaning { return inspect{e} }) }

type inspect struct{ element.Inspect }

// walk: which rules match is known at run time. The DSCP behind is then that of before, or one of the marks.
func (i inspect) walk(w *walker, t *tcu, at arrival) error {
	traits := i.Traits()
	writes := map[headerspace.Field]headerspace.Set{}
	for _, f := range traits.Writes { // the DSCP
		writes[f] = i.Marks().Union(t.present(f))
	}
	arg := int64(at.node) << 1
	if i.fromOutside(at.port) {
		arg |= 1
	}
	if err := w.act(t, at.node, op{kind: opInspect, arg: arg}, traits.Reads, writes); err != nil {
		return err
	}
	w.table(at.node)
	return w.follow(t, at.node, i.Leaves(at.port), -1)
}

// fromOutside tells whether what comes in by an input comes from outside of the function; it matters to streams alone.
func (i inspect) fromOutside(in int) bool {
	return i.Streams != nil && i.Streams.FromOutside != (in == 1)
}

func (i inspect) leads(h hopTo, in int, on func(hopTo, int)) { on(h, i.Leaves(in)) }

var opInspect = newOperation(operation{
	write: func(e *emitter, _ *leg, o op, says *Leg) *programpb.Op {
		node := int(o.arg >> 1)
		says.Ops = append(says.Ops, "inspect ("+e.w.g.Nodes[node].Name+")")
		return &programpb.Op{Op: &programpb.Op_Inspect{Inspect: &programpb.Inspect{Table: uint32(e.w.table(node)), FromOutside: o.arg&1 == 1}}}
	},
	verdict: true, lasting: true,
})

// keep implements keeping.
func (i inspect) keep(e *emitter, t *programpb.StateTable) {
	t.Inspector = &programpb.Inspector{}
	if s := i.Streams; s != nil {
		t.MaxSessions = uint32(s.Known)
		t.Inspector.Streams = &programpb.InspectStreams{
			Depth: uint32(s.Depth), Max: uint32(s.Max), TimeoutMs: ms(s.Timeout), Full: e.drop(s.Full).GetChain(),
		}
	}
	for _, r := range i.Rules {
		rule := &programpb.InspectRule{Name: r.Name}
		switch a := r.Action; {
		case a.Drop != "":
			rule.Action = &programpb.InspectRule_Drop{Drop: e.drop(a.Drop).GetChain()}
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
