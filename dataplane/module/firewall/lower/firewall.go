// Package lower lowers firewalls: classifiers for each side, and for each state of flows if they are stateful.
package lower

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	lower.Register("firewall", func(k *v1alpha1.FunctionKinds) *v1alpha1.Firewall { return k.Firewall }, func(s *v1alpha1.Firewall) lower.Kind { return firewall{spec: s} })
}

type firewall struct {
	lower.TwoSided
	spec *v1alpha1.Firewall
}

// Traits are those of a function with two sides; a stateful one knows whose replies come.
func (w firewall) Traits() lower.Traits {
	t := w.TwoSided.Traits()
	t.DropsReplies = w.spec.Stateful
	t.NeedsBoth = w.spec.Tracking != nil && w.spec.Tracking.Strict
	return t
}

// Answers tells whether the firewall answers what it refuses.
func (w firewall) Answers(b *lower.Builder) bool {
	fw := w.spec
	if from := fw.RulesFrom; from != nil {
		list := b.In.Files.Rules[rules.Source{File: from.Name(), Format: from.Format}]
		if from.Actions == v1alpha1.ActionsReject ||
			slices.ContainsFunc(list, func(r rules.Rule) bool { return r.Action == v1alpha1.ActionReject }) {
			return true
		}
	}
	return fw.Default == v1alpha1.ActionReject ||
		slices.ContainsFunc(fw.Rules, func(r v1alpha1.FirewallRule) bool { return r.Action == v1alpha1.ActionReject })
}

// firewallRule is a rule of either origin.
type firewallRule struct {
	name   string
	from   v1alpha1.Side
	action v1alpha1.Action
	filter []headerspace.Filter // the only one, as elements have it: both sides share it
	states []v1alpha1.FlowState // of a stateful firewall; none: New
}

// firewallAccepts is the output of a firewall's classifiers by which accepted packets leave.
const firewallAccepts = 0

// Lower makes a classifier per direction, "fw/inside" for what comes in
// by inside. What a rule drops is counted as "fw/drop", what no rule matches as
// "fw/default". What is rejected is counted by "fw/reject-<side>" or
// "fw/reject-default-<side>", and answered by the side that it came by.
func (w firewall) Lower(b *lower.Builder, f *lower.Function) {
	spec := w.spec
	list := firewallRules(b, f, spec)
	if spec.Stateful {
		w.lowerStateful(b, f, list)
		return
	}
	drop := b.AddOnce(f, f.Name+"/drop")
	refuse := b.AddOnce(f, f.Name+"/default")
	sides := map[string]element.Classifier{}
	for _, side := range lower.TwoSides {
		if !b.Reached(f.Port(side)) {
			continue
		}
		c, outs := firewallSide(list, spec, side)
		n := b.Add(f.Name, f.Name+"/"+side, c)
		f.Entry[side] = lower.Edge{To: n}
		b.Exit(n, firewallAccepts, f, lower.Opposite(side))
		sides[side] = c
		lowerVerdicts(b, f, side, n, outs, "", drop, refuse)
	}
	if len(sides) == len(lower.TwoSides) && !b.Unlinked() {
		checkReplies(b, f, sides[lower.Inside], sides[lower.Outside])
	}
}

// lowerVerdicts leads the outputs of a side's classifier to their ends, but for that of what is accepted. what is a part of the names of answers.
func lowerVerdicts(b *lower.Builder, f *lower.Function, side string, n int, outs []string, what string, drop, refuse func() int) {
	for i, name := range outs {
		switch name {
		case "drop":
			b.Wire(n, i, drop())
		case "default":
			b.Wire(n, i, refuse())
		case "reject", "reject-default":
			lowerReject(b, f, side, name+what, n, i)
		}
	}
}

// firewallSide is the classifier of what comes in by a side, and the names of its outputs.
func firewallSide(list []firewallRule, spec *v1alpha1.Firewall, side string) (element.Classifier, []string) {
	c := element.Classifier{Rules: make([]element.Rule, 0, len(list))}
	to := lower.NewOuts("accept")
	var last *firewallRule
	out := 0
	for i := range list {
		r := &list[i]
		if !lower.From(r.from, side) {
			continue
		}
		if last == nil || r.action != last.action {
			last, out = r, to.Number(strings.ToLower(string(r.action)))
		}
		c.Rules = append(c.Rules, element.Rule{Name: r.name, Filters: r.filter, Out: out, Count: spec.CountRules})
	}
	switch spec.Default {
	case v1alpha1.ActionDrop:
		c.Default = to.Number("default")
	case v1alpha1.ActionReject:
		c.Default = to.Number("reject-default")
	case v1alpha1.ActionAccept:
	}
	c.Outs = len(to.Names)
	return c, to.Names
}

// lowerReject leads a classifier's output to a counter and to the answer, which leaves by the side.
func lowerReject(b *lower.Builder, f *lower.Function, side, name string, from, out int) {
	count := b.Add(f.Name, f.Name+"/"+name+"-"+side, element.Counter{})
	answer := b.Add(f.Name, f.Name+"/"+name+"-"+side+"-answer", element.Reject{})
	b.Wire(from, out, count)
	b.Wire(count, 0, answer)
	b.Exit(answer, 0, f, side)
	b.AnswersFrom(answer, f.Port(side))
}

func firewallRules(b *lower.Builder, f *lower.Function, spec *v1alpha1.Firewall) []firewallRule {
	list := make([]firewallRule, 0, len(spec.Rules))
	names := map[string]string{}
	for i := range spec.Rules {
		r := &spec.Rules[i]
		field := lower.Index(f.Path+".rules", i)
		name := cmp.Or(string(r.Name), fmt.Sprintf("rule-%d", i+1))
		b.TakeName(names, f.Object, field, name, "rules")
		if len(r.State) > 0 && !spec.Stateful {
			b.Fail(f.Object, field+".state", "", "only a stateful firewall knows states; set stateful: true, or leave state out")
		}
		if filter, ok := b.Filter(f.Object, field, &r.Match); ok {
			list = append(list, firewallRule{f.Name + "/" + name, r.From, r.Action, []headerspace.Filter{filter}, r.State})
		}
	}
	if spec.RulesFrom != nil {
		list = append(list, fileRules(b, f, spec.RulesFrom)...)
	}
	return list
}

func fileRules(b *lower.Builder, f *lower.Function, from *v1alpha1.RulesFrom) []firewallRule {
	read, ok := b.In.Files.Rules[rules.Source{File: from.Name(), Format: from.Format}]
	if !ok {
		b.Fail(f.Object, f.Path+".rulesFrom", from.Name(), "the file was not read")
		return nil
	}
	base := f.Name + "/" + filepath.Base(from.Name()) + ":"
	list, filters := make([]firewallRule, len(read)), make([]headerspace.Filter, len(read))
	names, ends := make([]byte, 0, len(read)*(len(base)+6)), make([]int, len(read))
	for i := range read {
		r := &read[i]
		filters[i] = r.Filter
		list[i] = firewallRule{"", r.From, r.Action, filters[i : i+1 : i+1], nil}
		if r.Name == "" {
			names = strconv.AppendInt(append(names, base...), int64(r.Line), 10)
		} else {
			names = append(append(append(names, f.Name...), '/'), r.Name...)
		}
		ends[i] = len(names)
		if r.Action == "" {
			list[i].from, list[i].action = from.From, actionOf(from.Actions, r.Line)
		}
	}
	all, at := string(names), 0 // one for all of a long list
	for i, end := range ends {
		list[i].name = all[at:end]
		at = end
	}
	return list
}

func actionOf(actions v1alpha1.RuleActions, line int) v1alpha1.Action {
	if actions == v1alpha1.ActionsReject {
		return v1alpha1.ActionReject
	}
	if actions == v1alpha1.ActionsAccept || actions == v1alpha1.ActionsOddAcceptEvenDrop && line%2 == 1 {
		return v1alpha1.ActionAccept
	}
	return v1alpha1.ActionDrop
}

// flowStates are the outputs of a Track.
var flowStates = [element.TrackStates]v1alpha1.FlowState{
	element.TrackNew: v1alpha1.StateNew, element.TrackEstablished: v1alpha1.StateEstablished,
	element.TrackRelated: v1alpha1.StateRelated, element.TrackInvalid: v1alpha1.StateInvalid,
}

// lowerStateful makes, per direction, "fw/track-inside", which sorts packets by state, and a classifier for each state that has rules:
// "fw/inside" for new packets, "fw/inside-established" and so on for others. What is accepted of new packets begins a flow at
// "fw/admit-inside". Of others no rule matches, established and related packets pass, and invalid ones are counted as "fw/invalid".
func (w firewall) lowerStateful(b *lower.Builder, f *lower.Function, list []firewallRule) {
	s := statefulSide{b: b, f: f, tracking: readTracking(b, f, w.spec.Tracking)}
	s.drop, s.refuse, s.invalid = b.AddOnce(f, f.Name+"/drop"), b.AddOnce(f, f.Name+"/default"), b.AddOnce(f, f.Name+"/invalid")
	for _, s.side = range lower.TwoSides {
		if !b.Reached(f.Port(s.side)) {
			continue
		}
		s.track = b.Add(f.Name, f.Name+"/track-"+s.side, element.Track{Tracking: s.tracking, FromOutside: s.side == lower.Outside})
		f.Entry[s.side] = lower.Edge{To: s.track}
		for out, state := range flowStates {
			rules := rulesFor(list, s.side, state)
			switch {
			case state == v1alpha1.StateNew:
				s.begin(w.spec, rules)
			case len(rules) > 0:
				s.judge(*w.spec, out, rules)
			case state == v1alpha1.StateInvalid:
				b.Wire(s.track, out, s.invalid())
			default:
				b.Exit(s.track, out, f, lower.Opposite(s.side))
			}
		}
	}
}

// statefulSide is a side of a stateful firewall that is being lowered.
type statefulSide struct {
	b                     *lower.Builder
	f                     *lower.Function
	tracking              element.Tracking
	drop, refuse, invalid func() int
	side                  string
	track                 int
}

// begin lowers the rules for new packets.
func (s *statefulSide) begin(spec *v1alpha1.Firewall, rules []firewallRule) {
	c, outs := firewallSide(rules, spec, s.side)
	n := s.b.Add(s.f.Name, s.f.Name+"/"+s.side, c)
	admit := s.b.Add(s.f.Name, s.f.Name+"/admit-"+s.side, element.Admit{Tracking: s.tracking, FromOutside: s.side == lower.Outside})
	s.b.Wire(s.track, element.TrackNew, n)
	s.b.Wire(n, firewallAccepts, admit)
	s.b.Exit(admit, 0, s.f, lower.Opposite(s.side))
	lowerVerdicts(s.b, s.f, s.side, n, outs, "", s.drop, s.refuse)
}

// judge lowers the rules for packets of another state.
func (s *statefulSide) judge(spec v1alpha1.Firewall, out int, rules []firewallRule) {
	refuse := s.refuse
	spec.Default = v1alpha1.ActionAccept
	if out == element.TrackInvalid {
		spec.Default, refuse = v1alpha1.ActionDrop, s.invalid
	}
	what := "-" + strings.ToLower(string(flowStates[out]))
	c, outs := firewallSide(rules, &spec, s.side)
	n := s.b.Add(s.f.Name, s.f.Name+"/"+s.side+what, c)
	s.b.Wire(s.track, out, n)
	s.b.Exit(n, firewallAccepts, s.f, lower.Opposite(s.side))
	lowerVerdicts(s.b, s.f, s.side, n, outs, what, s.drop, refuse)
}

// rulesFor are the rules for packets of a state.
func rulesFor(list []firewallRule, side string, state v1alpha1.FlowState) (out []firewallRule) {
	for _, r := range list {
		if lower.From(r.from, side) && (slices.Contains(r.states, state) || len(r.states) == 0 && state == v1alpha1.StateNew) {
			out = append(out, r)
		}
	}
	return out
}

// readTracking reads how flows are followed; absent: by the defaults.
func readTracking(b *lower.Builder, f *lower.Function, spec *v1alpha1.Tracking) element.Tracking {
	field := f.Path + ".tracking"
	s := v1alpha1.DefaultTracking()
	if spec != nil {
		s = *spec
	}
	return element.Tracking{
		Table: f.Name + "/flows", Max: int(s.MaxFlows), PickUp: s.PickUp, Strict: s.Strict, HalfOpen: int(s.MaxHalfOpen), Full: f.Name + "/full",
		Timeouts: element.Timeouts{
			TCP:           b.Timeout(f, field+".timeouts.tcp", s.Timeouts.TCP),
			TCPTransitory: b.Timeout(f, field+".timeouts.tcpTransitory", s.Timeouts.TCPTransitory),
			UDP:           b.Timeout(f, field+".timeouts.udp", s.Timeouts.UDP),
			ICMP:          b.Timeout(f, field+".timeouts.icmp", s.Timeouts.ICMP),
		},
	}
}
