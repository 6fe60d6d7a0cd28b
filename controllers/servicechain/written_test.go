package servicechain_test

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// frozen is what a cache shows of chains and programs that stands still, by name.
type frozen struct {
	chains   map[string]v1alpha1.ServiceChain
	programs v1alpha1.ChainProgramList
}

// freeze has the controllers see chains and programs as they are now, whatever becomes of them.
func (w *world) freeze() {
	w.Helper()
	f := &frozen{chains: map[string]v1alpha1.ServiceChain{}}
	var chains v1alpha1.ServiceChainList
	w.must(w.client.List(w.Context(), &chains, client.InNamespace(w.namespace)))
	w.must(w.client.List(w.Context(), &f.programs, client.InNamespace(w.namespace)))
	for _, c := range chains.Items {
		f.chains[c.Name] = c
	}
	w.frozen = f
}

// cached reads what the cache shows.
func (w *world) cached(funcs interceptor.Funcs) interceptor.Funcs {
	funcs.Get = func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		chain, ok := o.(*v1alpha1.ServiceChain)
		if w.frozen == nil || !ok {
			return c.Get(ctx, key, o, opts...)
		}
		f, ok := w.frozen.chains[key.Name]
		if !ok {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "servicechains"}, key.Name)
		}
		f.DeepCopyInto(chain)
		return nil
	}
	funcs.List = func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		programs, ok := list.(*v1alpha1.ChainProgramList)
		if w.frozen == nil || !ok {
			return c.List(ctx, list, opts...)
		}
		w.frozen.programs.DeepCopyInto(programs)
		return nil
	}
	return funcs
}

// countTold counts the events that have a text.
func (w *world) countTold(text string) (n int) {
	for _, e := range w.events {
		if strings.Contains(e, text) {
			n++
		}
	}
	return n
}

func TestARolloutIsWatchedThoughTheCacheIsBehind(t *testing.T) {
	for name, scaling := range map[string]string{"one instance": "", "three instances": threeInstances} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.node("a")
			w.apply(edge(443, scaling, quickRollout))
			w.run()
			first := w.chain("edge").Status.Program
			brought := func() (n int) {
				var list v1alpha1.ChainInstanceList
				w.must(w.client.List(t.Context(), &list, client.InNamespace(w.namespace)))
				for _, i := range list.Items {
					if i.Spec.Program != first {
						n++
					}
				}
				return n
			}
			watched := func(when string) {
				t.Helper()
				w.reconcile()
				w.reconcile()
				s := w.chain("edge").Status
				if n := brought(); n != 1 || s.Program != first || s.Rollout == nil || s.Rollout.Instance != "edge-0" {
					t.Fatalf("%s %d instances are brought to the new program, the one in force is %s (%s before), the rollout %+v; want edge-0 alone to be watched; events:\n%s",
						when, n, s.Program, first, s.Rollout, strings.Join(w.events, "\n"))
				}
			}
			w.apply(edge(8443, scaling, quickRollout))
			w.freeze() // neither program nor rollout are seen
			watched("before any report")
			w.report("edge-0", nil)
			watched("after the first report")
			w.freeze() // the program is seen, its refusal is not
			w.pass(5 * time.Second)
			w.report("edge-0", func(i *v1alpha1.ChainInstance) { i.Status.LossRate = 200_000 })
			w.reconcile()
			w.report("edge-0", nil)
			w.reconcile()
			w.reconcile()
			if n := brought(); n != 0 || w.chain("edge").Status.Program != first {
				t.Errorf("%d instances keep the program that loses packets, want it to be taken back; events:\n%s", n, strings.Join(w.events, "\n"))
			}
			w.frozen = nil
			w.run()
			w.says(v1alpha1.ConditionProgrammed, no, v1alpha1.ReasonRolledBack, "lost 20.0 %")
			for _, text := range []string{"RolloutStarted", "ProgramRefused", "ProgramCreated: revision 2"} {
				if n := w.countTold(text); n != 1 {
					t.Errorf("%s is told %d times, want it told once", text, n)
				}
			}
		})
	}
}

func TestWhatIsToldIsNotToldAgainWhereTheCacheIsBehind(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443))
	w.run()
	w.freeze()
	w.report("edge-0", func(i *v1alpha1.ChainInstance) {
		i.Status.LostSessions = 5
		programmed(i, no, v1alpha1.ReasonEngineDown, "the engine does not answer")
	})
	w.reconcile()
	w.reconcile()
	for _, text := range []string{"EngineDown: Programmed is False", "SessionsLost: 5 sessions"} {
		if n := w.countTold(text); n != 1 {
			t.Errorf("%q is told %d times, want it told once; events:\n%s", text, n, strings.Join(w.events, "\n"))
		}
	}
	if n := w.chain("edge").Status.LostSessions; n != 5 {
		t.Errorf("%d sessions are lost, want 5", n)
	}
}
