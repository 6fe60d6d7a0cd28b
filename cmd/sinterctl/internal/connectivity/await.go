package connectivity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/cause"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/cluster"
)

// operatorImage is the image of the operator in a cluster.
func operatorImage(ctx context.Context, c *cluster.Cluster) (image string, err error) {
	operator, err := c.Operator(ctx)
	if err != nil {
		return "", fmt.Errorf("list deployments in all namespaces, to find the operator's image: %w; or name the image by --image", err)
	}
	if operator != nil {
		for _, container := range operator.Spec.Template.Spec.Containers {
			if container.Name == cluster.ContainerOperator {
				return container.Image, nil
			}
		}
	}
	return "", errors.New("there is no Deployment of the operator, whose image the test's pods take: is Sinter installed in this cluster? Else name the image by --image")
}

// poll looks again and again until done says so; what says what is missing. The error has the last of these.
func poll(ctx context.Context, pause time.Duration, look func(context.Context) (done bool, what string, err error)) error {
	var what string
	err := wait.PollUntilContextCancel(ctx, pause, true, func(ctx context.Context) (bool, error) {
		done, missing, err := look(ctx)
		what = cmp.Or(missing, what)
		return done, err
	})
	if ctx.Err() != nil && err != nil {
		return gaveUp(ctx, what)
	}
	return err
}

func gaveUp(ctx context.Context, what string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("timed out: " + cmp.Or(what, "the API server does not answer"))
	}
	return errors.New("interrupted")
}

// node waits until an instance of the chain has a pod on a node.
func (o *objects) node(ctx context.Context, pause time.Duration) (node string, err error) {
	err = poll(ctx, pause, func(ctx context.Context) (bool, string, error) {
		instances, err := o.instances(ctx)
		if err != nil {
			return false, "", err
		}
		for i := range instances {
			var p corev1.Pod
			err := o.client.Get(ctx, client.ObjectKeyFromObject(&instances[i]), &p)
			if err != nil && !apierrors.IsNotFound(err) {
				return false, "", fmt.Errorf("get pod %s/%s: %w", o.namespace, instances[i].Name, err)
			}
			if node = p.Spec.NodeName; node != "" {
				return true, "", nil
			}
		}
		return false, "no instance of chain " + o.name + " has a pod on a node", nil
	})
	return node, err
}

// instances are those of the chain.
func (o *objects) instances(ctx context.Context) ([]v1alpha1.ChainInstance, error) {
	var list v1alpha1.ChainInstanceList
	if err := o.client.List(ctx, &list, client.InNamespace(o.namespace), client.MatchingLabels{v1alpha1.LabelChain: o.name}); err != nil {
		return nil, fmt.Errorf("list chaininstances in namespace %s: %w", o.namespace, err)
	}
	return list.Items, nil
}

// drops are the packets that the chain dropped, as its instances last reported.
func (o *objects) drops(ctx context.Context) (map[string]int64, error) {
	instances, err := o.instances(ctx)
	if err != nil {
		return nil, err
	}
	sums := map[string]int64{}
	for i := range instances {
		for _, d := range instances[i].Status.Drops {
			sums[d.Reason] += d.Packets
		}
	}
	return sums, nil
}

// running waits until a pod runs.
func (o *objects) running(ctx context.Context, pause time.Duration, pod client.ObjectKey) error {
	return poll(ctx, pause, func(ctx context.Context) (bool, string, error) {
		var p corev1.Pod
		if err := o.client.Get(ctx, pod, &p); err != nil {
			return false, "", fmt.Errorf("get pod %s: %w", pod, err)
		}
		why := fmt.Sprintf("pod %s does not run: %s", pod, notRunning(&p))
		switch p.Status.Phase {
		case corev1.PodRunning:
			return true, "", nil
		case corev1.PodFailed, corev1.PodSucceeded:
			return false, "", errors.New(why)
		case corev1.PodPending, corev1.PodUnknown:
		}
		return false, why, nil
	})
}

// notRunning is why a pod does not run.
func notRunning(p *corev1.Pod) string {
	if why := cause.Of(p, container); why != "" {
		return why
	}
	for _, s := range p.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil {
			return fmt.Sprintf("container %s waits: %s", s.Name, cmp.Or(w.Message, w.Reason, "the kubelet does not say why"))
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "it is not scheduled: " + cmp.Or(c.Message, c.Reason)
		}
	}
	return "it is " + cmp.Or(string(p.Status.Phase), "new")
}
