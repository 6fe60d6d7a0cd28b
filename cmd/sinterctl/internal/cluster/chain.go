package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sinter-nfv/sinter/api/endpoints"
	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/stores"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
)

// Compile compiles a chain as the cluster has it, with the functions and texts that it
// refers to. Texts come from stores whose URLs are named. A warning tells of instances that run something else.
func (c *Cluster) Compile(ctx context.Context, name string, urls ...string) (*compile.Chain, error) {
	chain, err := c.chain(ctx, name)
	if err != nil {
		return nil, err
	}
	text, err := c.manifest(ctx, chain)
	if err != nil {
		return nil, err
	}
	var from stores.Stores
	compile.Allow(&from, urls)
	bundle, findings := manifest.Options{Stores: &from}.Parse("the cluster's objects", text, func(string) ([]byte, error) {
		return nil, errors.New("there are no files in a cluster; the chain should take it from a ConfigMap")
	})
	if err := findings.Sorted().Err(); err != nil {
		return nil, err
	}
	compiled, err := compile.Bundle(bundle)
	if err != nil {
		return nil, err
	}
	instances, err := c.instances(ctx, client.MatchingLabels{v1alpha1.LabelChain: name})
	if err != nil {
		return nil, err
	}
	for i := range instances {
		if got := instances[i].Status.AppliedHash; got != compiled.Hash {
			compiled.Findings = append(compiled.Findings, finding.Finding{Severity: finding.Warning, Message: fmt.Sprintf(
				"instance %s runs %s, not program %.10s, which the spec compiles to and which is explained here", instances[i].Name, running(got), compiled.Hash)})
		}
	}
	return compiled, nil
}

func running(hash string) string {
	if hash == "" {
		return "nothing that it has told of"
	}
	return fmt.Sprintf("program %.10s", hash)
}

// manifest is the chain and what it refers to as a file would have it.
func (c *Cluster) manifest(ctx context.Context, chain *v1alpha1.ServiceChain) ([]byte, error) {
	var b bytes.Buffer
	var errs error
	group := v1alpha1.GroupVersion.String()
	wanted := map[string]bool{} // ConfigMaps
	take := func(f *v1alpha1.FunctionKinds) {
		for ref := range f.ConfigMaps() {
			wanted[ref.Name] = true
		}
		if err := c.putEndpoints(ctx, f); err != nil {
			errs = errors.Join(errs, fmt.Errorf("chain %s: %w", chain.Name, err))
		}
	}
	refers := map[string]bool{}
	for i := range chain.Spec.Functions {
		f := &chain.Spec.Functions[i]
		take(&f.FunctionKinds)
		if f.FunctionRef != nil {
			refers[f.FunctionRef.Name] = true
		}
	}
	errs = errors.Join(errs, document(&b, group, v1alpha1.KindServiceChain, chain, map[string]any{"spec": chain.Spec}))
	var functions v1alpha1.NetworkFunctionList
	if err := c.list(ctx, &functions); err != nil {
		return nil, err
	}
	slices.SortFunc(functions.Items, func(a, b v1alpha1.NetworkFunction) int { return byName(&a, &b) })
	for i := range functions.Items {
		f := &functions.Items[i]
		if !refers[f.Name] {
			continue
		}
		take(&f.Spec.FunctionKinds)
		errs = errors.Join(errs, document(&b, group, v1alpha1.KindNetworkFunction, f, map[string]any{"spec": f.Spec}))
	}
	for name := range wanted {
		var m corev1.ConfigMap
		if err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &m); err != nil {
			return nil, fmt.Errorf("chain %s: %w", chain.Name, failed("get ConfigMap "+c.Namespace+"/"+name, err))
		}
		errs = errors.Join(errs, document(&b, "v1", "ConfigMap", &m, map[string]any{"data": m.Data, "binaryData": m.BinaryData}))
	}
	return b.Bytes(), errs
}

// putEndpoints has a function that takes its backends from a Service list the endpoints that this has now.
func (c *Cluster) putEndpoints(ctx context.Context, f *v1alpha1.FunctionKinds) error {
	ref := f.Service()
	if ref == nil {
		return nil
	}
	var list discoveryv1.EndpointSliceList
	if err := c.list(ctx, &list, client.MatchingLabels{discoveryv1.LabelServiceName: ref.Name}); err != nil {
		return err
	}
	backends, err := endpoints.Of(list.Items...).Backends(ref)
	if err == nil && len(backends) == 0 {
		err = errors.New("there are none now, so the load balancer drops what is new")
	}
	if err != nil {
		return fmt.Errorf("endpoints of Service %s/%s: %w", c.Namespace, ref.Name, err)
	}
	endpoints.Put(f, backends)
	return nil
}

// document writes an object with no more of its metadata than its name.
func document(b *bytes.Buffer, apiVersion, kind string, o metav1.Object, content map[string]any) error {
	content["apiVersion"], content["kind"] = apiVersion, kind
	content["metadata"] = map[string]string{"namespace": o.GetNamespace(), "name": o.GetName()}
	text, err := yaml.Marshal(content)
	if err != nil {
		return fmt.Errorf("%s %s: %w", kind, o.GetName(), err)
	}
	fmt.Fprintf(b, "---\n%s", text)
	return nil
}
