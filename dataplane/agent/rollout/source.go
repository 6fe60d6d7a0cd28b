package rollout

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/loop"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
)

// fetchTimeout bounds one attempt to read a program.
const fetchTimeout = 30 * time.Second

// Source hears from the cluster what is wanted: it watches one ChainInstance, and reads the ChainProgram that this names. A
// ChainProgram never changes, so that it is read once and not watched.
type Source struct {
	Client   client.WithWatch
	Instance client.ObjectKey
	Tables   *Tables
	Clock    clock.Clock
	Log      logr.Logger
}

// Run delivers what is wanted, whenever it changes, until the context ends. While the cluster does not answer
// nothing is delivered, and what was delivered before holds.
func (s *Source) Run(ctx context.Context, deliver func(Wanted)) error {
	instances := make(chan *v1alpha1.ChainInstance, 1)
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.ToListWatcherWithWatchListSemantics(s.listWatch(), s.Client),
		ObjectType:    &v1alpha1.ChainInstance{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { latest(instances, o) },
			UpdateFunc: func(_, o any) { latest(instances, o) },
			// When its instance is deleted the pod goes, too; until then packets are forwarded.
		},
	})
	go informer.RunWithContext(ctx)

	var wanted Wanted
	var retry <-chan time.Time
	pause := newBackoff()
	for {
		select {
		case <-ctx.Done():
			return nil
		case instance := <-instances:
			if !s.news(wanted.Instance, instance) {
				continue
			}
			if wanted.Instance == nil || wanted.Instance.Spec.Program != instance.Spec.Program {
				wanted.Program, wanted.Err = nil, nil
				pause = newBackoff()
			}
			wanted.Instance = instance
		case <-retry:
		}
		retry = nil
		if wanted.Program == nil {
			wanted.Program, wanted.Again, wanted.Err = s.fetch(ctx, wanted.Instance.Spec.Program)
			if wanted.Again {
				retry = s.Clock.After(pause.Step())
			}
		}
		deliver(wanted)
	}
}

// news tells whether an event is more than the echo of a report.
func (s *Source) news(before, now *v1alpha1.ChainInstance) bool {
	return before == nil || before.UID != now.UID || before.Generation != now.Generation
}

// fetch reads a program and checks it. Again: what failed may not fail later.
func (s *Source) fetch(parent context.Context, name string) (p *delivery.Program, again bool, err error) {
	ctx, cancel := context.WithTimeout(parent, fetchTimeout)
	defer cancel()
	var object v1alpha1.ChainProgram
	err = s.Client.Get(ctx, client.ObjectKey{Namespace: s.Instance.Namespace, Name: name}, &object)
	if apierrors.IsNotFound(err) {
		return nil, true, fmt.Errorf("ChainProgram %s does not exist", name)
	}
	if err != nil {
		s.Log.Error(err, "program cannot be read", "program", name)
		return nil, true, fmt.Errorf("ChainProgram %s: %w", name, err)
	}
	p, err = delivery.Unpack(&object)
	if err == nil {
		again, err = s.Tables.Build(parent, p)
	}
	if err != nil {
		s.Log.Error(err, "program refused", "program", name)
		return nil, again, fmt.Errorf("ChainProgram %s: %w", name, err)
	}
	return p, false, nil
}

// listWatch lists and watches the one instance.
func (s *Source) listWatch() *cache.ListWatch {
	options := func(o *metav1.ListOptions) *client.ListOptions {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, s.Instance.Name).String()
		return &client.ListOptions{
			Namespace:     s.Instance.Namespace,
			FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, s.Instance.Name),
			Raw:           o,
		}
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			var list v1alpha1.ChainInstanceList
			err := s.Client.List(ctx, &list, options(&o))
			return &list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return s.Client.Watch(ctx, &v1alpha1.ChainInstanceList{}, options(&o))
		},
	}
}

// latest replaces what the channel holds.
func latest(c chan *v1alpha1.ChainInstance, o any) {
	instance, ok := o.(*v1alpha1.ChainInstance)
	if !ok {
		return
	}
	for {
		select {
		case c <- instance:
			return
		default:
		}
		select {
		case <-c:
		default:
		}
	}
}

// newBackoff is the pauses between attempts that fail: a second, growing to half a minute, never in step with other agents.
func newBackoff() *wait.Backoff {
	b := loop.Doubling(time.Second, 30*time.Second)
	b.Jitter = 0.5
	return &b
}
