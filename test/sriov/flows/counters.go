package main

import (
	"context"
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

// Step is what was done, and what the engine counted meanwhile.
type Step struct {
	Name    string
	Seconds float64

	Sent, Answered              int64 // packets of hosts, packets that came back to them
	Reordered, Rebound, Strange int64 // see network

	Workers []Worker
	Ports   []Port
	Owners  []uint32 // the worker of each shard, at the end
}

// Worker of the engine.
type Worker struct {
	Packets, Handed, Taken int64
}

// Port of the engine, and the rules that its device has at the end.
type Port struct {
	Interface                  string
	Received, Strays           int64
	Checked, Misqueued, Marked int64
	Rules                      []Rule
}

// Rule of a device, and what was seen of it since it was made.
type Rule struct {
	Number               uint32
	Verdict              string
	Agreed, Contradicted uint64
}

// counted is what an engine counted from one reading to the next.
func counted(before, after *controlpb.Stats) (s Step) {
	for i, a := range after.GetWorkers() {
		b := before.GetWorkers()[i]
		s.Workers = append(s.Workers, Worker{
			int64(a.GetPackets() - b.GetPackets()), int64(a.GetHanded() - b.GetHanded()), int64(a.GetTaken() - b.GetTaken()),
		})
	}
	for i, a := range after.GetPorts() {
		b := before.GetPorts()[i]
		s.Ports = append(s.Ports, Port{
			Interface: a.GetInterface(), Received: int64(a.GetRxPackets() - b.GetRxPackets()), Strays: int64(a.GetStrays() - b.GetStrays()),
			Checked:   int64(a.GetFlowChecked() - b.GetFlowChecked()),
			Misqueued: int64(a.GetFlowMisqueued() - b.GetFlowMisqueued()), Marked: int64(a.GetMarked() - b.GetMarked()),
		})
	}
	for _, shard := range after.GetShards() {
		s.Owners = append(s.Owners, shard.GetWorker())
	}
	return s
}

// handed is how many packets came to another worker than their shard's.
func (s *Step) handed() (n int64) {
	for _, w := range s.Workers {
		n += w.Handed
	}
	return n
}

// readRules adds what was seen of the devices' rules.
func (s *Step) readRules(ctx context.Context, engine *control.Client) error {
	for i := range s.Ports {
		p := &s.Ports[i]
		list, err := engine.Flows(ctx, p.Interface)
		if err != nil {
			return fmt.Errorf("interface %s: %w", p.Interface, err)
		}
		for _, f := range list.GetFlows() {
			p.Rules = append(p.Rules, Rule{f.GetNumber(), f.GetVerdict().String(), f.GetAgreed(), f.GetContradicted()})
		}
	}
	return nil
}
