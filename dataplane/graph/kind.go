package graph

import (
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// kind is what a network function is: all that the chain asks of it. The file of each kind has a type that implements it
// and registers it.
type kind interface {
	// ports are the names of its ports.
	ports() []string
	// lower makes its elements, and says where packets come in: f.entry.
	lower(b *builder, f *function)
	// through is the ports by which packets may leave that came in by the given one.
	through(f *function, in string) []string
	// translated is as through, for packets on their way to an address: a NAPT's inside is out of sight from its
	// outside, where its pool is seen.
	translated(f *function, in string) (outs []string, pools []*v1alpha1.NAPT)
	// joinRealms joins ports by which the same addresses are seen.
	joinRealms(f *function, r realms)
	// traits are what it does to packets, whatever its rules say.
	traits() traits
}

type traits struct {
	// transparent functions have two sides, and leave addresses and next hops of what they let pass as they are.
	transparent bool
	// translates says that addresses behind it are another realm's.
	translates bool
	// addressesAlone says that it reads no header but IP's.
	addressesAlone bool
	// unforeseen says that it may rewrite packets or choose next hops, by what only its elements tell.
	unforeseen bool
}

// answering is implemented by kinds that may send packets back by the port that they came in by.
type answering interface{ answers(b *builder) bool }

// kinds find what a function is; member is the field that says it.
var kinds []func(*v1alpha1.FunctionKinds) (k kind, member string)

// register is called once for each kind.
func register[M any](member string, of func(*v1alpha1.FunctionKinds) *M, is func(*M) kind) {
	kinds = append(kinds, func(k *v1alpha1.FunctionKinds) (kind, string) {
		if spec := of(k); spec != nil {
			return is(spec), member
		}
		return nil, ""
	})
}

// kindOf is what a function is; unknown if nothing says it.
func kindOf(k *v1alpha1.FunctionKinds) (_ kind, member string) {
	for _, of := range kinds {
		if k, member := of(k); k != nil {
			return k, member
		}
	}
	return unknown{}, ""
}

// twoSided is what functions have in common that let packets through from one side to the other.
type twoSided struct{}

func (twoSided) ports() []string { return twoSides }

func (twoSided) through(_ *function, in string) []string { return []string{opposite(in)} }

func (twoSided) translated(_ *function, in string) ([]string, []*v1alpha1.NAPT) {
	return []string{opposite(in)}, nil
}

func (twoSided) joinRealms(f *function, r realms) { r.joinAll(f) }

func (twoSided) traits() traits { return traits{transparent: true} }

// unknown is a function of which something else is missing, which is said once.
type unknown struct{ twoSided }

func (unknown) lower(*builder, *function)                                 {}
func (unknown) through(*function, string) []string                        { return nil }
func (unknown) translated(*function, string) ([]string, []*v1alpha1.NAPT) { return nil, nil }

func (unknown) traits() traits { return traits{} }

// known tells whether it is known what the function is.
func (f *function) known() bool { return f.kind != kind(unknown{}) }

// is tells whether a function is of a kind.
func is[K kind](f *function) bool {
	_, ok := f.kind.(K)
	return ok
}
