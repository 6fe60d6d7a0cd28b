package confined

import (
	"bufio"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
)

// request is what a process is to compile. The texts follow it as they are, since they may be large.
type request struct {
	Limits Limits
	// Keep says that the chain's next version will come.
	Keep bool

	Chain, Functions []byte // JSON
	Policy           compile.Policy
	ConfigMaps       []answer[v1alpha1.ConfigMapKeyRef]
	Stores           []answer[v1alpha1.StoreObject]
	StoredBytes      int
	Services         []answer[v1alpha1.ServiceRef]
}

// answer is what somebody said who was asked for an object.
type answer[T comparable] struct {
	Of       T
	Backends []v1alpha1.Backend // of a Service
	Size     int                // bytes of the text of others
	Err      string             // empty: there was none
	Missing  bool               // as finding.Missing

	text []byte
}

func (a *answer[T]) failed(err error) {
	if err != nil {
		a.Err, a.Missing = err.Error(), finding.CodeOf(err) == finding.NotFound
	}
}

func (a *answer[T]) err() error {
	switch {
	case a.Err == "":
		return nil
	case a.Missing:
		return finding.Missing(a.Err)
	}
	return errors.New(a.Err)
}

// asked are the answers for all references, each once.
func asked[T comparable](refs []*T, ask func(*T, *answer[T]) error) (out []answer[T]) {
	for _, ref := range refs {
		if slices.ContainsFunc(out, func(a answer[T]) bool { return a.Of == *ref }) {
			continue
		}
		a := answer[T]{Of: *ref}
		a.failed(ask(ref, &a))
		a.Size = len(a.text)
		out = append(out, a)
	}
	return out
}

// newRequest asks for all that a chain refers to.
func newRequest(j Job) (*request, error) {
	in := j.Inputs
	r := &request{Keep: in.StoredBytes > 0, Policy: in.Policy, StoredBytes: in.StoredBytes}
	chain := *j.Chain
	chain.Status, chain.ManagedFields = v1alpha1.ServiceChainStatus{}, nil
	used := compile.Used(j.Chain, in.Functions)
	functions := make([]v1alpha1.NetworkFunction, len(in.Functions))
	for i, f := range in.Functions {
		functions[i].Namespace, functions[i].Name = f.Namespace, f.Name // messages name them
		if slices.Contains(used, f) {
			functions[i].Spec = f.Spec
		}
	}
	var err error
	if r.Chain, err = json.Marshal(&chain); err != nil {
		return nil, fmt.Errorf("write the chain: %w", err)
	}
	if r.Functions, err = json.Marshal(functions); err != nil {
		return nil, fmt.Errorf("write the functions: %w", err)
	}
	var texts []*v1alpha1.ConfigMapKeyRef
	var services []*v1alpha1.ServiceRef
	for f := range compile.Kinds(j.Chain, in.Functions) {
		texts = slices.AppendSeq(texts, f.ConfigMaps())
		if ref := f.Service(); ref != nil {
			services = append(services, ref)
		}
	}
	r.ConfigMaps = asked(texts, func(ref *v1alpha1.ConfigMapKeyRef, a *answer[v1alpha1.ConfigMapKeyRef]) (err error) {
		a.text, err = in.Text(ref)
		return err
	})
	r.Stores = asked(compile.StoreObjects(j.Chain, in.Functions), func(ref *v1alpha1.StoreObject, a *answer[v1alpha1.StoreObject]) (err error) {
		a.text, err = in.Stored(ref)
		return err
	})
	r.Services = asked(services, func(ref *v1alpha1.ServiceRef, a *answer[v1alpha1.ServiceRef]) (err error) {
		a.Backends, err = in.Backends(ref)
		return err
	})
	return r, nil
}

// write writes the request and its texts.
func (r *request) write(w io.Writer, head *gob.Encoder) error {
	if err := head.Encode(r); err != nil {
		return err
	}
	for i := range r.ConfigMaps {
		if _, err := w.Write(r.ConfigMaps[i].text); err != nil {
			return err
		}
	}
	for i := range r.Stores {
		if _, err := w.Write(r.Stores[i].text); err != nil {
			return err
		}
	}
	return nil
}

// readRequest reads what write wrote. head reads from the same reader.
func readRequest(from *bufio.Reader, head *gob.Decoder) (*request, error) {
	r := &request{}
	if err := head.Decode(r); err != nil {
		return nil, err
	}
	read := func(size int) ([]byte, error) {
		text := make([]byte, size)
		_, err := io.ReadFull(from, text)
		return text, err
	}
	var err error
	for i := range r.ConfigMaps {
		if r.ConfigMaps[i].text, err = read(r.ConfigMaps[i].Size); err != nil {
			return nil, err
		}
	}
	for i := range r.Stores {
		if r.Stores[i].text, err = read(r.Stores[i].Size); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// job is the request as compile.Chain wants it.
func (r *request) job() (*v1alpha1.ServiceChain, compile.Inputs, error) {
	chain, in := &v1alpha1.ServiceChain{}, compile.Inputs{Policy: r.Policy, StoredBytes: r.StoredBytes}
	if err := errors.Join(json.Unmarshal(r.Chain, chain), json.Unmarshal(r.Functions, &in.Functions)); err != nil {
		return nil, in, err
	}
	in.Text = func(ref *v1alpha1.ConfigMapKeyRef) ([]byte, error) {
		a := answerOf(r.ConfigMaps, ref)
		return a.text, a.err()
	}
	in.Stored = func(ref *v1alpha1.StoreObject) ([]byte, error) {
		a := answerOf(r.Stores, ref)
		return a.text, a.err()
	}
	in.Backends = func(ref *v1alpha1.ServiceRef) ([]v1alpha1.Backend, error) {
		a := answerOf(r.Services, ref)
		return a.Backends, a.err()
	}
	return chain, in, nil
}

func answerOf[T comparable](all []answer[T], ref *T) *answer[T] {
	for i := range all {
		if all[i].Of == *ref {
			return &all[i]
		}
	}
	return &answer[T]{Err: fmt.Sprintf("%v was not asked for", *ref)} // newRequest asks for all that a chain refers to
}
