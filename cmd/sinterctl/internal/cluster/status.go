package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Chain is what there is to know of a chain. Scripts read it, so names stay.
type Chain struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Ready is true if the chain forwards as its newest spec says.
	Ready              bool               `json:"ready"`
	Generation         int64              `json:"generation"`
	ObservedGeneration int64              `json:"observedGeneration"`
	Program            string             `json:"program,omitempty"` // that all instances run
	RollbackTo         string             `json:"rollbackTo,omitempty"`
	Classes            int32              `json:"classes"`
	RunningInstances   int32              `json:"runningInstances"`
	Cores              int32              `json:"cores"`
	PacketRate         int64              `json:"packetRate"` // rates are per second
	DropRate           int64              `json:"dropRate"`
	LostSessions       int64              `json:"lostSessions"`
	Front              string             `json:"front,omitempty"`
	Rollout            *Rollout           `json:"rollout,omitempty"`
	Conditions         []metav1.Condition `json:"conditions"`
	Functions          []Function         `json:"functions,omitempty"`
	Instances          []Instance         `json:"instances"`
}

// Rollout is a rollout in progress.
type Rollout struct {
	Program  string      `json:"program"`
	Updated  int32       `json:"updated"`            // instances
	Instance string      `json:"instance,omitempty"` // that is updated now
	Since    metav1.Time `json:"since,omitzero"`
}

// Instance is a data-plane pod of a chain.
type Instance struct {
	Name           string             `json:"name"`
	Node           string             `json:"node,omitempty"`
	Ready          bool               `json:"ready"`
	Front          bool               `json:"front"`
	Program        string             `json:"program"` // to run
	AppliedHash    string             `json:"appliedHash,omitempty"`
	EngineVersion  string             `json:"engineVersion,omitempty"`
	Cores          int32              `json:"cores"`
	LoadPercent    int32              `json:"loadPercent"`
	CoreLoads      []CoreLoad         `json:"coreLoads"`
	PacketRate     int64              `json:"packetRate"`
	DropRate       int64              `json:"dropRate"`
	LossRate       int64              `json:"lossRate"`
	Sessions       int64              `json:"sessions"`
	LostSessions   int64              `json:"lostSessions"`
	Dispatch       []Dispatch         `json:"dispatch"`
	Functions      []Function         `json:"functions,omitempty"`
	LastReportTime metav1.Time        `json:"lastReportTime,omitzero"`
	Conditions     []metav1.Condition `json:"conditions"`
}

// Function is a blackbox, as all instances see it, or one.
type Function = v1alpha1.FunctionStatus

// CoreLoad is how busy a working core is.
type CoreLoad struct {
	LCore           int32 `json:"lcore"` // the CPU's number on its node
	LoadPercent     int32 `json:"loadPercent"`
	CyclesPerPacket int32 `json:"cyclesPerPacket"`
	Lost            int64 `json:"lost"` // packets
}

// Dispatch is how packets of an interface get to their cores.
type Dispatch struct {
	Interface  string `json:"interface"`
	Dispatcher string `json:"dispatcher"`
	Reason     string `json:"reason,omitempty"` // why there is no better one
}

// Status is what there is to know of a chain and its instances; an empty name means all chains.
func (c *Cluster) Status(ctx context.Context, name string) ([]Chain, error) {
	chains, err := c.chains(ctx, name)
	if err != nil {
		return nil, err
	}
	var opts []client.ListOption
	if name != "" {
		opts = append(opts, client.MatchingLabels{v1alpha1.LabelChain: name})
	}
	instances, err := c.instances(ctx, opts...)
	if err != nil {
		return nil, err
	}
	out := make([]Chain, len(chains))
	for i := range chains {
		out[i] = chainOf(&chains[i])
		for j := range instances {
			if n := &instances[j]; n.Namespace == chains[i].Namespace && n.Spec.Chain == chains[i].Name {
				out[i].Instances = append(out[i].Instances, instanceOf(n))
			}
		}
	}
	return out, nil
}

func chainOf(chain *v1alpha1.ServiceChain) Chain {
	s := &chain.Status
	out := Chain{
		Namespace: chain.Namespace, Name: chain.Name, Ready: Awaited(chain) == "",
		Generation: chain.Generation, ObservedGeneration: s.ObservedGeneration,
		Program: s.Program, RollbackTo: chain.Spec.RollbackTo, Classes: s.Classes, RunningInstances: s.Instances, Cores: s.Cores,
		PacketRate: s.PacketRate, DropRate: s.DropRate, LostSessions: s.LostSessions, Front: s.Front,
		Conditions: append([]metav1.Condition{}, s.Conditions...), Functions: s.Functions, Instances: []Instance{},
	}
	if r := s.Rollout; r != nil {
		out.Rollout = &Rollout{Program: r.Program, Updated: r.Updated, Instance: r.Instance, Since: r.Since}
	}
	return out
}

func instanceOf(n *v1alpha1.ChainInstance) Instance {
	s := &n.Status
	out := Instance{
		Name: n.Name, Node: s.Node, Ready: ready(s.Conditions) == string(metav1.ConditionTrue), Front: n.Spec.Front,
		Program: n.Spec.Program, AppliedHash: s.AppliedHash, EngineVersion: s.EngineVersion,
		Cores: n.Spec.Cores, LoadPercent: s.LoadPercent, CoreLoads: []CoreLoad{},
		PacketRate: s.PacketRate, DropRate: s.DropRate, LossRate: s.LossRate, Sessions: s.Sessions, LostSessions: s.LostSessions,
		Dispatch: []Dispatch{}, Functions: s.Functions, LastReportTime: s.LastReportTime, Conditions: append([]metav1.Condition{}, s.Conditions...),
	}
	for i := range s.Cores {
		out.CoreLoads = append(out.CoreLoads, coreLoadOf(&s.Cores[i]))
	}
	for _, d := range s.Dispatch {
		out.Dispatch = append(out.Dispatch, Dispatch{Interface: string(d.Interface), Dispatcher: string(d.Dispatcher), Reason: d.Reason})
	}
	return out
}

func coreLoadOf(k *v1alpha1.CoreStatus) CoreLoad {
	return CoreLoad{LCore: k.LCore, LoadPercent: k.LoadPercent, CyclesPerPacket: k.CyclesPerPacket, Lost: k.Lost}
}
