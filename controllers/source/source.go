// Package source reads what a chain refers to from the cluster.
package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/endpoints"
	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
	"github.com/sinter-nfv/sinter/controllers/confined"
	"github.com/sinter-nfv/sinter/controllers/queue"
)

// Reader reads functions from the cache, and of ConfigMaps only the metadata: all the
// ConfigMaps of a cluster would fill the memory. Their content is read live, when it is needed.
type Reader struct {
	Cached client.Reader
	Live   client.Reader
	Policy compile.Policy
	Stores *Stores
	// Queue gives compiles their turns; nil: nobody waits.
	Queue *queue.Queue
	// Compiler has limits; nil: there are none.
	Compiler *confined.Compiler
	// Patience is how long all texts of a chain may take that come from stores.
	Patience time.Duration
}

// Sources is what a chain refers to. The functions are the cache's own, to be read only.
type Sources struct {
	Functions []*v1alpha1.NetworkFunction
	reader    *Reader
	namespace string
	versions  map[string]string         // of the ConfigMaps, by name; empty: not there
	services  map[string]endpoints.List // by the Service's name
}

// Read reads what the chain refers to.
func (r *Reader) Read(ctx context.Context, c *v1alpha1.ServiceChain) (*Sources, error) {
	var list v1alpha1.NetworkFunctionList
	if err := r.Cached.List(ctx, &list, client.InNamespace(c.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list NetworkFunctions: %w", err)
	}
	all := make([]*v1alpha1.NetworkFunction, len(list.Items))
	for i := range list.Items {
		all[i] = &list.Items[i]
	}
	slices.SortFunc(all, func(a, b *v1alpha1.NetworkFunction) int { return strings.Compare(a.Name, b.Name) })
	s := &Sources{Functions: all, reader: r, namespace: c.Namespace, versions: map[string]string{}}
	for _, name := range ConfigMaps(c, all) {
		m := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
		err := r.Cached.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &m)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("ConfigMap %s: %w", name, err)
		}
		s.versions[name] = m.ResourceVersion
	}
	var err error
	s.services, err = r.readEndpoints(ctx, c.Namespace, Services(c, all))
	return s, err
}

// ConfigMaps are the names of the ConfigMaps that a chain takes texts from.
func ConfigMaps(c *v1alpha1.ServiceChain, functions []*v1alpha1.NetworkFunction) []string {
	names := map[string]bool{}
	for f := range compile.Kinds(c, functions) {
		for ref := range f.ConfigMaps() {
			names[ref.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Version tells whether anything changed: chain, functions, ConfigMaps or endpoints.
func (s *Sources) Version(c *v1alpha1.ServiceChain) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s@%d", c.UID, c.Generation)
	for _, f := range s.Functions {
		fmt.Fprintf(&b, " %s", f.Name) // findings tell which names there are
	}
	for _, f := range compile.Used(c, s.Functions) {
		fmt.Fprintf(&b, " %s@%d", f.UID, f.Generation)
	}
	for _, name := range slices.Sorted(maps.Keys(s.versions)) {
		fmt.Fprintf(&b, " %s@%s", name, s.versions[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.services)) {
		fmt.Fprintf(&b, " service %s %s", name, s.services[name])
	}
	return b.String()
}

// Replace puts a function in the place of the one of its name, or beside the others.
func (s *Sources) Replace(f *v1alpha1.NetworkFunction) {
	s.Functions = append(slices.DeleteFunc(s.Functions, func(o *v1alpha1.NetworkFunction) bool { return o.Name == f.Name }), f)
}

// Compile compiles a chain when it is its namespace's turn. The error is one of the API server, the system or the context, and not the user's fault.
func (s *Sources) Compile(ctx context.Context, c *v1alpha1.ServiceChain) (compile.Outcome, error) {
	texts := configMaps{of: s, read: map[string]*corev1.ConfigMap{}}
	in := compile.Inputs{
		Functions: s.Functions, Policy: s.reader.Policy,
		Text:     func(ref *v1alpha1.ConfigMapKeyRef) ([]byte, error) { return texts.text(ctx, ref) },
		Backends: func(ref *v1alpha1.ServiceRef) ([]v1alpha1.Backend, error) { return s.services[ref.Name].Backends(ref) },
	}
	turns := 1 // the largest texts take nearly all memory that the operator has: their chains are compiled alone
	if objects := compile.StoreObjects(c, s.Functions); len(objects) > 0 {
		stored := s.reader.Stores.read(ctx, objects, s.reader.Patience)
		in.Stored, in.StoredBytes = stored.text, stored.bytes
		turns = queue.Whole
	}
	release, err := s.reader.Queue.Take(ctx, s.namespace, turns)
	if err != nil {
		return compile.Outcome{}, err
	}
	defer release()
	outcome, err := s.reader.Compiler.Compile(ctx, confined.Job{Chain: c, Inputs: in, Alone: turns == queue.Whole})
	return outcome, errors.Join(append(texts.errs, err)...)
}

// configMaps reads those that a chain names, each once.
type configMaps struct {
	of   *Sources
	read map[string]*corev1.ConfigMap
	errs []error // of the API server
}

func (m *configMaps) text(ctx context.Context, ref *v1alpha1.ConfigMapKeyRef) ([]byte, error) {
	object, known := m.read[ref.Name]
	if !known {
		object = &corev1.ConfigMap{}
		err := m.of.reader.Live.Get(ctx, client.ObjectKey{Namespace: m.of.namespace, Name: ref.Name}, object)
		switch {
		case apierrors.IsNotFound(err):
			object = nil
		case err != nil:
			m.errs = append(m.errs, fmt.Errorf("ConfigMap %s: %w", ref.Name, err))
			return nil, err
		}
		m.read[ref.Name] = object
	}
	if object == nil {
		return nil, finding.Missing("there is no such ConfigMap in the chain's namespace")
	}
	if text, ok := object.Data[ref.Key]; ok {
		return []byte(text), nil
	}
	if data, ok := object.BinaryData[ref.Key]; ok {
		return data, nil
	}
	keys := append(slices.Collect(maps.Keys(object.Data)), slices.Collect(maps.Keys(object.BinaryData))...)
	return nil, finding.Missing("the ConfigMap has no such key" + finding.DidYouMean(ref.Key, keys))
}
