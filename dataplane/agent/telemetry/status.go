// Package telemetry tells what the agent knows: to the cluster as the status of a ChainInstance, written when it is worth a write, and to
// Prometheus as metrics.
package telemetry

import (
	"cmp"
	"net"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/balance"
	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/agent/offload"
	"github.com/sinter-nfv/sinter/dataplane/agent/rollout"
	"github.com/sinter-nfv/sinter/dataplane/agent/sharing"
	"github.com/sinter-nfv/sinter/dataplane/binding"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// Seen is all that an agent knows at a moment.
type Seen struct {
	At       time.Time
	Node     string
	State    rollout.State
	Before   *engine.Sample // nil: rates are not known yet
	Now      *engine.Sample // nil: the engine does not answer
	Binding  *binding.Plan  // nil: the engine was not started by exec-engine
	Draining bool
	Moving   bool // shards are moved between cores
	Balance  balance.State
	Dispatch offload.State
	Sharing  *sharing.State // nil: the pod shares its state with none
}

// Bounds of the status' schema.
const (
	maxDrops   = 256
	maxMessage = 1024
	maxReason  = 256
)

// Status is what the cluster is told. Conditions that stay as they were keep their time.
func (s *Seen) Status(before []metav1.Condition) v1alpha1.ChainInstanceStatus {
	instance := s.State.Wanted.Instance
	r := ratesOf(s.Before, s.Now)
	status := v1alpha1.ChainInstanceStatus{
		Status: v1alpha1.Status{
			ObservedGeneration: instance.Generation,
			Conditions:         s.conditions(before),
		},
		Program:        instance.Spec.Program,
		AppliedHash:    s.State.Hash,
		Tables:         s.tables(),
		EngineVersion:  s.State.Version,
		Node:           s.Node,
		PacketRate:     round(r.packets),
		DropRate:       round(r.drop),
		LossRate:       round(r.loss),
		Sessions:       s.Now.Sessions(),
		Cores:          s.cores(r),
		Functions:      s.blackboxes(r.seconds),
		Drops:          s.drops(),
		Dispatch:       s.dispatch(),
		LastReportTime: metav1.NewTime(s.At.Truncate(time.Second)),
	}
	status.Groups = s.groups(status.Cores)
	status.Shards, status.Interfaces = s.shared()
	for _, c := range status.Cores {
		status.LoadPercent = max(status.LoadPercent, c.LoadPercent)
	}
	return status
}

// tables are those of the program in force.
func (s *Seen) tables() (out []v1alpha1.RouteTable) {
	if s.State.Program == nil || s.State.Hash == "" {
		return nil
	}
	known := map[string]bool{}
	for _, t := range s.State.Program.RouteTables {
		if hash := t.Hash().String(); !known[hash] {
			known[hash] = true
			out = append(out, v1alpha1.RouteTable{Hash: hash, Routes: int64(t.Routes)})
		}
	}
	return out
}

// shared is what other pods are to know: which shards are here, and where packets for them go.
func (s *Seen) shared() ([]v1alpha1.ShardRange, []v1alpha1.InterfaceMAC) {
	if s.Sharing == nil || s.Now == nil {
		return nil, nil
	}
	var here shard.Set
	for i, one := range s.Now.Stats.GetShards() {
		if engine.IsHere(one) {
			here.Add(i)
		}
	}
	var macs []v1alpha1.InterfaceMAC
	for _, a := range s.Sharing.Addresses {
		macs = append(macs, v1alpha1.InterfaceMAC{Name: v1alpha1.Name(a.GetInterface()), MAC: v1alpha1.MACAddress(net.HardwareAddr(a.GetMac()).String())})
	}
	return shard.Text[v1alpha1.ShardRange](here), macs
}

// applied tells whether the wanted program is in force.
func (s *Seen) applied() bool {
	return s.State.Engine == nil && s.State.Hash != "" && s.State.Hash == s.State.Wanted.Hash()
}

// ours are the conditions that the agent writes.
var ours = []string{
	v1alpha1.ConditionProgrammed, v1alpha1.ConditionHardwareDispatch, v1alpha1.ConditionFunctionsUp,
	v1alpha1.ConditionFunctionsAsDeclared, v1alpha1.ConditionBalanced,
}

func (s *Seen) conditions(before []metav1.Condition) []metav1.Condition {
	var conditions []metav1.Condition
	for _, c := range before { // those of others are not ours to write
		if slices.Contains(ours, c.Type) {
			conditions = append(conditions, c)
		}
	}
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: clip(message, maxMessage),
			ObservedGeneration: s.State.Wanted.Instance.Generation,
			LastTransitionTime: metav1.NewTime(s.At.Truncate(time.Second)),
		})
	}
	status, reason, message := s.programmed()
	set(v1alpha1.ConditionProgrammed, status, reason, message)
	status, reason, message = s.hardware()
	set(v1alpha1.ConditionHardwareDispatch, status, reason, message)
	s.functions(&conditions, set)
	status, reason, message = s.balanced()
	set(v1alpha1.ConditionBalanced, status, reason, message)
	return conditions
}

// programmed judges whether the wanted program is in force.
func (s *Seen) programmed() (status metav1.ConditionStatus, reason, message string) {
	state := &s.State
	name := state.Wanted.Instance.Spec.Program
	running := "no program runs, packets wait at the ports"
	if state.Hash != "" {
		running = "program " + state.Hash[:min(10, len(state.Hash))] + " goes on"
	}
	switch {
	case state.Engine != nil:
		return metav1.ConditionFalse, v1alpha1.ReasonEngineDown, "the engine does not answer: " + state.Engine.Error()
	case state.Wanted.Program == nil && state.Wanted.Err != nil:
		reason = v1alpha1.ReasonLoadFailed
		if state.Wanted.Again {
			reason = v1alpha1.ReasonNoProgram
		}
		return metav1.ConditionFalse, reason, state.Wanted.Err.Error() + "; " + running
	case state.Refused != nil:
		return metav1.ConditionFalse, v1alpha1.ReasonLoadFailed, name + ": " + state.Refused.Error() + "; " + running
	case state.Waits != nil:
		return metav1.ConditionFalse, v1alpha1.ReasonNoProgram, name + ": " + state.Waits.Error() + "; " + running
	case state.Wanted.Program == nil || state.Hash != state.Wanted.Hash():
		return metav1.ConditionFalse, v1alpha1.ReasonNoProgram, name + " is not loaded yet; " + running
	case s.Draining:
		return metav1.ConditionTrue, v1alpha1.ReasonApplied, name + " runs; the pod is being drained"
	default:
		return metav1.ConditionTrue, v1alpha1.ReasonApplied, name + " runs"
	}
}

// hardware says whether network cards give packets to cores, per interface what is in force and why nothing stronger, and what else
// costs speed.
func (s *Seen) hardware() (status metav1.ConditionStatus, reason, message string) {
	status, reason = metav1.ConditionTrue, v1alpha1.ReasonInForce
	var text []string
	interfaces := map[string][]string{} // by what is said of them
	for _, d := range s.dispatch() {
		if d.Dispatcher == v1alpha1.DispatcherSoftware {
			status, reason = metav1.ConditionFalse, v1alpha1.ReasonSoftwareDispatch
		}
		if interfaces[d.Reason] == nil {
			text = append(text, d.Reason)
		}
		interfaces[d.Reason] = append(interfaces[d.Reason], string(d.Interface))
	}
	for i, said := range text {
		text[i] = strings.Join(interfaces[said], ", ") + ": " + said
	}
	if s.Binding != nil {
		text = append(append(text, s.Binding.Notes...), s.Binding.Remote...)
	}
	return status, reason, strings.Join(text, "; ")
}

// dispatch is how packets come to cores.
func (s *Seen) dispatch() []v1alpha1.InterfaceDispatch {
	out := make([]v1alpha1.InterfaceDispatch, 0, len(s.State.Wanted.Instance.Spec.Interfaces))
	for _, i := range s.State.Wanted.Instance.Spec.Interfaces {
		dispatcher, reason := s.dispatchOf(string(i.Name))
		out = append(out, v1alpha1.InterfaceDispatch{Interface: i.Name, Dispatcher: dispatcher, Reason: clip(reason, maxReason)})
	}
	return out
}

func (s *Seen) dispatchOf(name string) (v1alpha1.Dispatcher, string) {
	if s.State.Engine != nil {
		return v1alpha1.DispatcherSoftware, "the engine does not answer"
	}
	for _, p := range s.Dispatch.Ports {
		if p.Interface == name {
			return p.Dispatcher, p.Reason
		}
	}
	if s.Dispatch.Unknown != "" {
		return v1alpha1.DispatcherSoftware, "the engine does not report the capabilities of its devices: " + s.Dispatch.Unknown
	}
	return v1alpha1.DispatcherSoftware, "the device's capabilities are not known yet"
}

func (s *Seen) cores(r rates) []v1alpha1.CoreStatus {
	if s.Now == nil {
		return nil
	}
	out := make([]v1alpha1.CoreStatus, len(r.cores))
	for i, w := range s.Now.Stats.GetWorkers() {
		out[i] = v1alpha1.CoreStatus{
			LCore:           int32(s.Binding.CPU(i, w.GetLcore())),
			LoadPercent:     percent(r.cores[i].Load),
			Packets:         int64(w.GetPackets()),
			CyclesPerPacket: int32(min(round(r.cores[i].CyclesPerPacket), 1<<30)),
		}
		if i < len(s.Balance.Lost) {
			out[i].Lost, out[i].Other = s.Balance.Lost[i], s.Balance.Other[i]
		}
	}
	return out
}

// groups are counted where there is one, which then has all packets: the engine does not know of groups.
func (s *Seen) groups(cores []v1alpha1.CoreStatus) []v1alpha1.GroupStatus {
	wanted := s.State.Wanted.Instance.Spec.Groups
	if s.Now == nil || len(wanted) != 1 {
		return nil
	}
	g := v1alpha1.GroupStatus{Name: wanted[0].Name, Owners: s.owners(cores), Work: s.Balance.Work}
	for _, p := range s.Now.Stats.GetPorts() {
		g.Packets += int64(p.GetRxPackets())
		g.Bytes += int64(p.GetRxBytes())
	}
	return []v1alpha1.GroupStatus{g}
}

// kinds are the engine's kinds of drop reasons, as the API names them.
var kinds = map[programpb.DropKind]v1alpha1.DropKind{
	programpb.DropKind_DROP_KIND_DECISION: v1alpha1.DropDecision,
	programpb.DropKind_DROP_KIND_REFUSAL:  v1alpha1.DropRefusal,
	programpb.DropKind_DROP_KIND_LOSS:     v1alpha1.DropLoss,
	programpb.DropKind_DROP_KIND_CONSUMED: v1alpha1.DropConsumed,
}

func byName(a, b v1alpha1.DropCount) int {
	return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Kind, b.Kind))
}

// drops are the reasons with the most packets, by name.
func (s *Seen) drops() []v1alpha1.DropCount {
	if s.Now == nil {
		return nil
	}
	var out []v1alpha1.DropCount
	for _, d := range s.Now.Stats.GetDrops() {
		out = append(out, v1alpha1.DropCount{Reason: d.GetReason(), Kind: kinds[d.GetKind()], Packets: int64(d.GetPackets())})
	}
	var missed uint64
	for _, p := range s.Now.Stats.GetPorts() {
		missed += p.GetRxMissed()
	}
	if missed > 0 {
		out = append(out, v1alpha1.DropCount{Reason: missedReason, Kind: v1alpha1.DropLoss, Packets: int64(missed)})
	}
	slices.SortFunc(out, func(a, b v1alpha1.DropCount) int {
		return cmp.Or(cmp.Compare(b.Packets, a.Packets), byName(a, b))
	})
	out = out[:min(len(out), maxDrops)]
	slices.SortFunc(out, byName)
	return out
}

// missedReason is the reason of packets that a device dropped before the engine could take them.
const missedReason = "rx-missed"

// clip shortens a text to what the schema takes.
func clip(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size-3], "") + "..."
}
