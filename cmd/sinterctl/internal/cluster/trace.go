package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/capture"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// stopPatience is how long an agent may take to hand over the rest of a trace that was stopped.
const stopPatience = 5 * time.Second

// Trace writes what the instances of a chain trace into a file, and tells of each how it ended. No names: all instances. What one
// of them could not do does not keep the others from it.
func (c *Cluster) Trace(ctx context.Context, file *capture.File, name string, names []string, want *controlpb.StartTrace, say func(string)) error {
	chain, err := c.chain(ctx, name)
	if err != nil {
		return err
	}
	instances, err := c.chosen(ctx, chain, names)
	if err != nil {
		return err
	}
	programs, err := c.revisions(ctx, chain)
	if err != nil {
		return err
	}
	request, err := protojson.Marshal(want)
	if err != nil {
		return err
	}
	errs := make([]error, len(instances))
	var all sync.WaitGroup
	for i := range instances {
		pod := client.ObjectKeyFromObject(&instances[i])
		source := file.Source(pod.Name, programs.withHash)
		all.Go(func() {
			if err := c.stream(ctx, pod, []string{"sinter-agent", "trace", "--request", string(request)}, source); err != nil {
				errs[i] = fmt.Errorf("instance %s: %w", pod.Name, err)
				return
			}
			say(fmt.Sprintf("instance %s: %s", pod.Name, source.Summary()))
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// chosen are a chain's instances of the names, or all.
func (c *Cluster) chosen(ctx context.Context, chain *v1alpha1.ServiceChain, names []string) ([]v1alpha1.ChainInstance, error) {
	instances, err := c.instances(ctx, client.MatchingLabels{v1alpha1.LabelChain: chain.Name})
	if err != nil {
		return nil, err
	}
	if len(instances) == 0 {
		return nil, fmt.Errorf("chain %s has no instances yet", chain.Name)
	}
	var known []string
	for i := range instances {
		known = append(known, instances[i].Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("chain %s has no instance %q%s", chain.Name, name, finding.DidYouMean(name, known))
		}
	}
	if len(names) == 0 {
		return instances, nil
	}
	return slices.DeleteFunc(instances, func(i v1alpha1.ChainInstance) bool { return !slices.Contains(names, i.Name) }), nil
}

// InstanceNames are those of a chain, as far as the cluster tells.
func (c *Cluster) InstanceNames(ctx context.Context, chain string) (names []string) {
	instances, err := c.instances(ctx, client.MatchingLabels{v1alpha1.LabelChain: chain})
	if err != nil {
		return nil
	}
	for i := range instances {
		names = append(names, instances[i].Name)
	}
	return names
}

// Running is the program that a chain runs, nil if the cluster does not tell.
func (c *Cluster) Running(ctx context.Context, name string) *programpb.Program {
	chain, err := c.chain(ctx, name)
	if err != nil {
		return nil
	}
	programs, err := c.revisions(ctx, chain)
	if err != nil {
		return nil
	}
	o, err := programs.find(chain.Status.Program)
	if err != nil {
		return nil
	}
	p, err := delivery.Unpack(o)
	if err != nil {
		return nil
	}
	return p.Program
}

// withHash is the program of a hash, nil if it is not kept.
func (r revisions) withHash(hash []byte) *programpb.Program {
	text := fmt.Sprintf("%x", hash)
	for i := range r {
		if r[i].Spec.Hash != text {
			continue
		}
		if p, err := delivery.Unpack(&r[i]); err == nil {
			return p.Program
		}
	}
	return nil
}

// stream runs a command in an agent's container that writes a trace. When ctx ends the command's input does, which
// stops it; what it has is still received.
func (c *Cluster) stream(ctx context.Context, pod client.ObjectKey, command []string, to control.Traces) error {
	in, hold := io.Pipe()
	out, written := io.Pipe()
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	stop := context.AfterFunc(ctx, func() {
		_ = hold.Close()
		time.AfterFunc(stopPatience, kill)
	})
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = written.CloseWithError(c.Pods.Exec(running, pod, v1alpha1.ContainerAgent, command, in, written))
	}()
	err := control.ReadTraces(out, to)
	_ = hold.Close()
	time.AfterFunc(stopPatience, kill)
	_ = out.CloseWithError(errors.New("the trace is over"))
	<-ended
	return err
}
