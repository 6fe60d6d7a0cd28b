// Package webhook refuses chains and functions that do not compile, with the findings
// of the compiler: what sinterctl says offline. Without it, the same is said in the
// status of the chain.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
	"github.com/sinter-nfv/sinter/controllers/confined"
	"github.com/sinter-nfv/sinter/controllers/queue"
	"github.com/sinter-nfv/sinter/controllers/source"
)

// +kubebuilder:webhook:path=/validate-nfv-sinter-dev-v1alpha1-servicechain,mutating=false,failurePolicy=fail,sideEffects=None,groups=nfv.sinter.dev,resources=servicechains,verbs=create;update,versions=v1alpha1,name=vservicechain.nfv.sinter.dev,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-nfv-sinter-dev-v1alpha1-networkfunction,mutating=false,failurePolicy=fail,sideEffects=None,groups=nfv.sinter.dev,resources=networkfunctions,verbs=create;update,versions=v1alpha1,name=vnetworkfunction.nfv.sinter.dev,admissionReviewVersions=v1

// storesPatience leaves time to compile: the API server gives up after 10 s by default. What has not come by then is missing, so the chain passes with
// a warning.
const storesPatience = 4 * time.Second

// patience is how long all chains of a request may wait and be compiled. The controller compiles what is left; the condition Synthesized has the result.
const patience = 5 * time.Second

// Setup serves the webhooks.
func Setup(mgr ctrl.Manager, policy compile.Policy, from *source.Stores, turns *queue.Queue, compiler *confined.Compiler) error {
	reader := source.Reader{
		Cached: mgr.GetClient(), Live: mgr.GetAPIReader(), Policy: policy, Stores: from, Queue: turns, Compiler: compiler, Patience: storesPatience,
	}
	return errors.Join(
		ctrl.NewWebhookManagedBy(mgr, &v1alpha1.ServiceChain{}).WithValidator(&Chains{Reader: reader}).Complete(),
		ctrl.NewWebhookManagedBy(mgr, &v1alpha1.NetworkFunction{}).WithValidator(&Functions{Reader: reader}).Complete(),
	)
}

// Chains judges ServiceChains.
type Chains struct{ Reader source.Reader }

// ValidateCreate compiles a new chain.
func (v *Chains) ValidateCreate(ctx context.Context, c *v1alpha1.ServiceChain) (admission.Warnings, error) {
	return v.check(ctx, c)
}

// ValidateUpdate compiles a chain whose spec has changed.
func (v *Chains) ValidateUpdate(ctx context.Context, before, c *v1alpha1.ServiceChain) (admission.Warnings, error) {
	if !c.DeletionTimestamp.IsZero() || equality.Semantic.DeepEqual(before.Spec, c.Spec) {
		return nil, nil
	}
	return v.check(ctx, c)
}

// ValidateDelete lets every chain go.
func (v *Chains) ValidateDelete(context.Context, *v1alpha1.ServiceChain) (admission.Warnings, error) {
	return nil, nil
}

func (v *Chains) check(ctx context.Context, c *v1alpha1.ServiceChain) (admission.Warnings, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := compiled(ctx, &v.Reader, c, nil)
	if errors.Is(err, context.DeadlineExceeded) {
		return unjudged([]string{c.Name}), nil
	}
	if err != nil {
		return nil, err
	}
	warnings, bad := judged(found)
	if len(bad) > 0 {
		return warnings, errors.New(compile.Summary(bad))
	}
	return warnings, nil
}

// Functions judges NetworkFunctions by the chains that refer to them.
type Functions struct{ Reader source.Reader }

// ValidateCreate compiles the chains that have waited for the function.
func (v *Functions) ValidateCreate(ctx context.Context, f *v1alpha1.NetworkFunction) (admission.Warnings, error) {
	return v.check(ctx, nil, f)
}

// ValidateUpdate compiles the chains that refer to a function whose spec has changed.
func (v *Functions) ValidateUpdate(ctx context.Context, before, f *v1alpha1.NetworkFunction) (admission.Warnings, error) {
	if !f.DeletionTimestamp.IsZero() || equality.Semantic.DeepEqual(before.Spec, f.Spec) {
		return nil, nil
	}
	return v.check(ctx, before, f)
}

// ValidateDelete lets every function go: chains that refer to it keep their last program.
func (v *Functions) ValidateDelete(context.Context, *v1alpha1.NetworkFunction) (admission.Warnings, error) {
	return nil, nil
}

// check refuses what keeps a chain from being compiled that was compiled before.
func (v *Functions) check(ctx context.Context, before, f *v1alpha1.NetworkFunction) (admission.Warnings, error) {
	var chains v1alpha1.ServiceChainList
	if err := v.Reader.Cached.List(ctx, &chains, client.InNamespace(f.Namespace)); err != nil {
		return nil, fmt.Errorf("list ServiceChains: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var warnings admission.Warnings
	var left []string
	for i := range chains.Items {
		c := &chains.Items[i]
		if len(compile.Used(c, []*v1alpha1.NetworkFunction{f})) == 0 {
			continue
		}
		if ctx.Err() != nil {
			left = append(left, c.Name)
			continue
		}
		more, err := v.checkChain(ctx, c, before, f)
		warnings = append(warnings, more...)
		if errors.Is(err, context.DeadlineExceeded) {
			left = append(left, c.Name)
			continue
		}
		if err != nil {
			return warnings, fmt.Errorf("chain %s: %w", c.Name, err)
		}
	}
	return append(warnings, unjudged(left)...), nil
}

// checkChain is check for one of the chains.
func (v *Functions) checkChain(ctx context.Context, c *v1alpha1.ServiceChain, before, f *v1alpha1.NetworkFunction) (admission.Warnings, error) {
	found, err := compiled(ctx, &v.Reader, c, f)
	if err != nil {
		return nil, err
	}
	warnings, bad := judged(found)
	if len(bad) == 0 {
		return warnings, nil
	}
	had, err := compiled(ctx, &v.Reader, c, before)
	if err != nil {
		return warnings, err
	}
	if !wrongBefore(had.Errors(), bad) {
		return warnings, errors.New(compile.Summary(bad))
	}
	return append(warnings, fmt.Sprintf("chain %s does not compile, as before: %s", c.Name, compile.Summary(bad))), nil
}

// told is how many chains a warning names.
const told = 10

// unjudged warns of chains that were not compiled in time.
func unjudged(chains []string) admission.Warnings {
	if len(chains) == 0 {
		return nil
	}
	more := ""
	if n := len(chains) - told; n > 0 {
		chains, more = chains[:told], fmt.Sprintf(" and %d more", n)
	}
	return admission.Warnings{fmt.Sprintf("there was no time to compile %s%s here; the condition Synthesized will have the result", strings.Join(chains, ", "), more)}
}

// wrongBefore tells whether a chain did not compile before either. If that was for want of something, what else was wrong
// with it must be all that is wrong now.
func wrongBefore(had, bad finding.List) bool {
	if !slices.ContainsFunc(had, missing) {
		return len(had) > 0
	}
	return !slices.ContainsFunc(bad, func(f finding.Finding) bool { return !slices.Contains(had, f) })
}

// compiled is what the compiler finds of a chain, as if the function, unless it is nil, were there already.
func compiled(ctx context.Context, reader *source.Reader, c *v1alpha1.ServiceChain, instead *v1alpha1.NetworkFunction) (finding.List, error) {
	sources, err := reader.Read(ctx, c)
	if err != nil {
		return nil, err
	}
	if instead != nil {
		sources.Replace(instead)
	}
	outcome, err := sources.Compile(ctx, c)
	return unquoted(outcome.Findings), err
}

// unquoted does not repeat what lines of ConfigMaps have. Whoever reaches the webhook's port can ask for any chain, with a ConfigMap that they may not
// read; the status of a chain that exists has all words.
func unquoted(found finding.List) finding.List {
	found = slices.Clone(found)
	for i, f := range found {
		if strings.HasPrefix(f.File, compile.ConfigMapFile) {
			found[i].Field, found[i].Value = "", ""
		}
	}
	return found
}

// judged are findings to warn of, and such to refuse for. What is missing altogether is a warning, since it may be applied next.
func judged(found finding.List) (warnings admission.Warnings, bad finding.List) {
	for _, f := range found.Warnings() {
		warnings = append(warnings, f.String())
	}
	bad = found.Errors()
	if slices.ContainsFunc(bad, missing) {
		// Findings that depend on it would be wrong.
		for _, f := range bad {
			warnings = append(warnings, f.String())
		}
		return warnings, nil
	}
	return warnings, bad
}

// missing tells a reference to something that is not there.
func missing(f finding.Finding) bool { return f.Code == finding.NotFound }
