// Package cluster shows and steers the chains of a Kubernetes cluster.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Cluster is a cluster as one user sees it.
type Cluster struct {
	Client    client.Client
	Namespace string // empty: all
	Pods      Pods
	Now       func() time.Time
}

// Pods is what the API server tells beside its objects.
type Pods interface {
	// Log is the end of a container's log, of its last run before this one if previous.
	Log(ctx context.Context, pod client.ObjectKey, container string, previous bool) ([]byte, error)
	// Exec runs a command in a container, until it ends or ctx does.
	Exec(ctx context.Context, pod client.ObjectKey, container string, command []string, in io.Reader, out io.Writer) error
	// Server is what the API server tells of itself.
	Server(ctx context.Context) (Server, error)
	// CPUManagerPolicy is the kubelet's cpuManagerPolicy, which the kubelet is asked for through the API server.
	CPUManagerPolicy(ctx context.Context, node string) (string, error)
}

// Server is an API server.
type Server struct {
	Version string
	Time    time.Time // by its clock, in whole seconds
}

// Scheme has Kubernetes' types and Sinter's.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	return s, errors.Join(clientgoscheme.AddToScheme(s), v1alpha1.AddToScheme(s))
}

// ChainNames are the chains of the namespace; none if they cannot be read.
func (c *Cluster) ChainNames(ctx context.Context) (names []string) {
	all, err := c.chains(ctx, "")
	if err != nil {
		return nil
	}
	for i := range all {
		names = append(names, all[i].Name)
	}
	return names
}

// Namespaces are those of the cluster; none if they cannot be read.
func (c *Cluster) Namespaces(ctx context.Context) (names []string) {
	var all corev1.NamespaceList
	if err := c.Client.List(ctx, &all); err != nil {
		return nil
	}
	for i := range all.Items {
		names = append(names, all.Items[i].Name)
	}
	return names
}

// Interfaces are the names of a chain's interfaces; none if it cannot be read.
func (c *Cluster) Interfaces(ctx context.Context, name string) (names []string) {
	chain, err := c.chain(ctx, name)
	if err != nil {
		return nil
	}
	for i := range chain.Spec.Interfaces {
		names = append(names, string(chain.Spec.Interfaces[i].Name))
	}
	return names
}

// unknownChain is the error that there is no such chain: the API server did reply.
type unknownChain struct{ error }

// chain finds a chain by its name.
func (c *Cluster) chain(ctx context.Context, name string) (*v1alpha1.ServiceChain, error) {
	var chain v1alpha1.ServiceChain
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &chain)
	if apierrors.IsNotFound(err) {
		var all v1alpha1.ServiceChainList
		if err := c.list(ctx, &all); err != nil {
			return nil, err
		}
		var names []string
		for i := range all.Items {
			names = append(names, all.Items[i].Name)
		}
		return nil, unknownChain{fmt.Errorf("there is no chain %q in namespace %s%s", name, c.Namespace, finding.DidYouMean(name, names))}
	}
	if err != nil {
		return nil, failed(fmt.Sprintf("get ServiceChain %s/%s", c.Namespace, name), err)
	}
	return &chain, nil
}

// chains are the chain of a name, or all if it is empty, sorted.
func (c *Cluster) chains(ctx context.Context, name string) ([]v1alpha1.ServiceChain, error) {
	if name != "" {
		chain, err := c.chain(ctx, name)
		if err != nil {
			return nil, err
		}
		return []v1alpha1.ServiceChain{*chain}, nil
	}
	var list v1alpha1.ServiceChainList
	if err := c.list(ctx, &list); err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.ServiceChain) int { return byName(&a, &b) })
	return list.Items, nil
}

// list lists objects of the namespace.
func (c *Cluster) list(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	if err := c.Client.List(ctx, into, append(opts, client.InNamespace(c.Namespace))...); err != nil {
		return failed(fmt.Sprintf("list %s", strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", into), "*v1alpha1."), "*v1.")), err)
	}
	return nil
}

func failed(what string, err error) error {
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("%s: %w: is Sinter installed in this cluster?", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// byName is the order of objects: namespace, then name, numbers by their value.
func byName(a, b client.Object) int {
	return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()),
		cmp.Compare(len(a.GetName()), len(b.GetName())), strings.Compare(a.GetName(), b.GetName()))
}

// instances of a chain, sorted.
func (c *Cluster) instances(ctx context.Context, opts ...client.ListOption) ([]v1alpha1.ChainInstance, error) {
	var list v1alpha1.ChainInstanceList
	if err := c.list(ctx, &list, opts...); err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.ChainInstance) int { return byName(&a, &b) })
	return list.Items, nil
}
