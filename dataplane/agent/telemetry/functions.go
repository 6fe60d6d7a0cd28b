package telemetry

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// functions sets what is said of functions outside of the chain: whether those answer that get probes, and whether all do what they declare. It
// removes a condition that is about none.
func (s *Seen) functions(conditions *[]metav1.Condition, set func(kind string, status metav1.ConditionStatus, reason, message string)) {
	var fates map[string]fate
	var replicas map[string][]replica
	var names map[string]string
	hosts := false
	if p := s.State.Program; p != nil {
		fates = fatesOf(p.Program)
		names, _ = functionsOf(p)
		replicas = replicasOf(p.Program)
		hosts = watchesHosts(p)
	}
	for _, c := range []struct {
		kind  string
		there bool
		say   func(*controlpb.Stats) (status metav1.ConditionStatus, reason, message string)
	}{
		{v1alpha1.ConditionFunctionsUp, len(fates) > 0 || hosts, func(n *controlpb.Stats) (metav1.ConditionStatus, string, string) {
			return answers(n, func(w *controlpb.WireStats) fate {
				if standIn(replicas[names[w.GetBack()]], n.GetWires()) {
					return fate{v1alpha1.ReasonReplicaDown, []string{"its flows go to another replica"}}
				}
				return fates[w.GetBack()]
			})
		}},
		{v1alpha1.ConditionFunctionsAsDeclared, len(names) > 0, func(n *controlpb.Stats) (metav1.ConditionStatus, string, string) {
			return contradictions(n.GetWires(), names)
		}},
	} {
		switch {
		case !c.there:
			meta.RemoveStatusCondition(conditions, c.kind)
		case s.Now == nil:
			set(c.kind, metav1.ConditionUnknown, v1alpha1.ReasonEngineDown, "the engine does not say what functions do")
		case s.Now.Hash() != s.State.Program.Hash: // the last sample is of the program before: what was said stays
		default:
			status, reason, message := c.say(s.Now.Stats)
			set(c.kind, status, reason, message)
		}
	}
}

// badness is the order of reasons of FunctionsUp.
var badness = []string{v1alpha1.ReasonAnswering, v1alpha1.ReasonReplicaDown, v1alpha1.ReasonFunctionBypassed, v1alpha1.ReasonFunctionDown}

func answers(n *controlpb.Stats, fateOf func(*controlpb.WireStats) fate) (status metav1.ConditionStatus, reason, message string) {
	var up []string
	status, reason = metav1.ConditionTrue, v1alpha1.ReasonAnswering
	there, down := hostsThere(n.GetHosts())
	if len(down) > 0 {
		status, reason = metav1.ConditionFalse, v1alpha1.ReasonFunctionDown
	}
	for _, w := range n.GetWires() {
		if !w.GetWatched() {
			continue
		}
		way := w.GetOut() + " to " + w.GetBack()
		if !w.GetDown() {
			up = append(up, way)
			continue
		}
		f := fateOf(w)
		down = append(down, way+" does not answer probes: "+strings.Join(f.says, ", "))
		if status = metav1.ConditionFalse; slices.Index(badness, f.reason) > slices.Index(badness, reason) {
			reason = f.reason
		}
	}
	if len(up) > 0 {
		down = append(down, strings.Join(up, ", ")+": probes come back")
	}
	if len(there) > 0 {
		down = append(down, strings.Join(there, ", ")+": ARP is answered")
	}
	return status, reason, strings.Join(down, "; ")
}

// fate is what becomes of packets that should come back by an interface, with the reason of the condition.
type fate struct {
	reason string
	says   []string
}

// fatesOf are those of a program's functions that get probes, by the interface by which these come back.
func fatesOf(p *program.Program) map[string]fate {
	fates := map[string]fate{}
	eachLeg(p, func(l *programpb.Leg) {
		s := l.GetStop()
		back := p.GetInterfaces()[s.GetBack()].GetName()
		f := fates[back]
		var says string
		switch d := s.GetDown().(type) {
		case *programpb.Stop_Drop:
			f.reason, says = v1alpha1.ReasonFunctionDown, "packets are dropped as "+p.GetReasons()[d.Drop]
		case *programpb.Stop_Bypass:
			f.reason, says = cmp.Or(f.reason, v1alpha1.ReasonFunctionBypassed), "packets pass it by, counted by "+p.GetCounters()[d.Bypass]
		default:
			return
		}
		if !slices.Contains(f.says, says) {
			f.says = append(f.says, says)
		}
		fates[back] = f
	})
	return fates
}
