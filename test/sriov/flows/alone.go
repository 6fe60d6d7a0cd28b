package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/flowspb"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

const (
	aloneFor  = 5 * time.Second // more than the seconds for which an agent hesitates
	alonePace = 5 * time.Millisecond
)

// alone gives one flow a rule by its five-tuple, for one queue and then for the other: where the device does not execute it, one of both
// is contradicted.
func (s *session) alone(ctx context.Context) ([]Step, error) {
	const flow = 0
	host, port, proto := ends(flow)
	if _, err := s.shards(ctx); err != nil {
		return nil, err
	}
	var steps []Step
	for queue := range uint32(2) {
		rule := &flowspb.FlowRule{Number: queue + 1, Action: flowspb.FlowRule_QUEUE, Queue: queue}
		for _, c := range []struct {
			field       hs.Field
			value, mask uint32
		}{
			{hs.Src, host, ^uint32(0)},
			{hs.Dst, server, ^uint32(0)},
			{hs.Proto, uint32(proto), 0xff},
			{hs.SPort, uint32(port), 0xffff},
			{hs.DPort, serverPort, 0xffff},
		} {
			rule.Conds = append(rule.Conds, &flowspb.FlowCond{Field: programpb.Field(c.field), Value: c.value, Mask: c.mask})
		}
		if err := s.update(ctx, &flowspb.FlowStep{Step: &flowspb.FlowStep_Create{Create: rule}}); err != nil {
			return nil, err
		}
		step, err := s.step(ctx, func() error {
			for begun := time.Now(); time.Since(begun) < aloneFor; time.Sleep(alonePace) {
				if err := s.net.ask(flow); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		step.Name = fmt.Sprintf("queue %d", queue)
		steps = append(steps, step)
		if err := s.update(ctx, &flowspb.FlowStep{Step: &flowspb.FlowStep_Destroy{Destroy: rule.Number}}); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

func (s *session) update(ctx context.Context, step *flowspb.FlowStep) error {
	done, err := s.engine.UpdateFlows(ctx, &flowspb.UpdateFlows{Interface: "inside", Steps: []*flowspb.FlowStep{step}})
	if err == nil && done.GetDone() != 1 {
		err = fmt.Errorf("%v is refused: %s", step, done.GetRefused())
	}
	return err
}
