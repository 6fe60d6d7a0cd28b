package connectivity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/cluster"
)

// Options are how a cluster is tested.
type Options struct {
	Inside, Outside string        // NetworkAttachmentDefinitions of the namespace; empty: two are made
	Image           string        // of the pods; empty: the operator's
	Wait            time.Duration // for the chain to be Ready, and then for the pods
	Patience        time.Duration // for the drops to be counted
	Keep            bool          // leave there what was made

	// Doing is told what goes on, and returns what ends it.
	Doing func(what string) (done func())
	// Say is for what the user must know beside the report.
	Say func(line string)
}

// run is a test of a cluster that goes on.
type run struct {
	Options
	cluster *cluster.Cluster
	objects *objects
	drops   counts
	timing  Timing
	wires   [2]*podWire
}

// Run tests a cluster. It deletes all that it made, whatever happens, unless it is to be kept.
func Run(ctx context.Context, c *cluster.Cluster, o Options) (*Report, error) {
	r := &run{Options: o, cluster: c, objects: newObjects(c.Client, c.Namespace), timing: defaultTiming}
	r.drops = r.objects.drops
	r.timing.Drops = cmp.Or(o.Patience, r.timing.Drops)
	return r.run(ctx)
}

func (r *run) run(ctx context.Context) (report *Report, err error) {
	if r.Image == "" {
		if r.Image, err = operatorImage(ctx, r.cluster); err != nil {
			return nil, err
		}
	}
	defer func() { err = errors.Join(err, r.end(ctx)) }()
	node, err := r.start(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Doing("testing chain " + r.objects.name)()
	report = &Report{Chain: r.objects.namespace + "/" + r.objects.name, Node: node}
	if err := newTrial(r.wires[0], r.wires[1], r.drops, r.timing).run(ctx, report); err != nil {
		return nil, err
	}
	return report, nil
}

// end detaches from the pods, and deletes what was made.
func (r *run) end(ctx context.Context) error {
	for _, w := range r.wires {
		if w != nil {
			w.close()
		}
	}
	if len(r.objects.made) == 0 {
		return nil
	}
	if r.Keep {
		r.Say("kept; to delete it: " + r.objects.howToRemove())
		return nil
	}
	defer r.Doing("deleting what the test made")()
	return r.objects.remove(ctx, r.timing.Poll)
}

// start makes the chain and the hosts, and attaches to them.
func (r *run) start(ctx context.Context) (node string, err error) {
	o := r.objects
	if err := r.alone(ctx); err != nil {
		return "", err
	}
	inside, err := o.network(ctx, "inside", r.Inside)
	if err != nil {
		return "", err
	}
	outside, err := o.network(ctx, "outside", r.Outside)
	if err != nil {
		return "", err
	}
	if err := o.chain(ctx, inside, outside); err != nil {
		return "", err
	}
	if node, err = r.ready(ctx); err != nil {
		return "", err
	}
	return node, r.attach(ctx, node, inside, outside)
}

// alone waits until a test before is gone.
func (r *run) alone(ctx context.Context) error {
	defer r.Doing("looking for a test before")()
	ctx, cancel := context.WithTimeout(ctx, r.Wait)
	defer cancel()
	return r.objects.alone(ctx, r.timing.Poll)
}

// ready waits until the chain is Ready.
func (r *run) ready(ctx context.Context) (node string, err error) {
	defer r.Doing(fmt.Sprintf("waiting for chain %s to be Ready", r.objects.name))()
	ctx, cancel := context.WithTimeout(ctx, r.Wait)
	defer cancel()
	ticker := time.NewTicker(r.timing.Poll)
	defer ticker.Stop()
	if err := r.cluster.Wait(ctx, ticker.C, r.objects.name, func(string) {}); err != nil {
		return "", err
	}
	return r.objects.node(ctx, r.timing.Poll)
}

// attach makes the hosts' pods on the chain's node.
func (r *run) attach(ctx context.Context, node, inside, outside string) error {
	defer r.Doing("waiting for the pods of client and server")()
	waiting, cancel := context.WithTimeout(ctx, r.Wait)
	defer cancel()
	var pods [2]client.ObjectKey
	for i, h := range []struct{ role, network string }{{"client", inside}, {"server", outside}} {
		p, err := r.objects.pod(ctx, h.role, h.network, node, r.Image)
		if err != nil {
			return err
		}
		pods[i] = client.ObjectKeyFromObject(p)
	}
	for i, pod := range pods {
		if err := r.objects.running(waiting, r.timing.Poll, pod); err != nil {
			return err
		}
		var err error
		if r.wires[i], err = attach(ctx, r.cluster.Pods, pod); err != nil {
			return err
		}
	}
	return nil
}
