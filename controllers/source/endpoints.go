package source

import (
	"context"
	"fmt"
	"maps"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/endpoints"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
)

// Services are the names of the Services whose endpoints are backends of a chain.
func Services(c *v1alpha1.ServiceChain, functions []*v1alpha1.NetworkFunction) []string {
	names := map[string]bool{}
	for f := range compile.Kinds(c, functions) {
		if ref := f.Service(); ref != nil {
			names[ref.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// readEndpoints reads the endpoints of Services.
func (r *Reader) readEndpoints(ctx context.Context, namespace string, services []string) (map[string]endpoints.List, error) {
	out := map[string]endpoints.List{}
	for _, name := range services {
		var list discoveryv1.EndpointSliceList
		of := client.MatchingLabels{discoveryv1.LabelServiceName: name}
		if err := r.Cached.List(ctx, &list, client.InNamespace(namespace), of, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list EndpointSlices of Service %s: %w", name, err)
		}
		out[name] = endpoints.Of(list.Items...)
	}
	return out, nil
}
