package lower

import (
	"net/netip"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Kind is what a network function is: all that the chain asks of it. Each kind registers itself. A value is of one function of one Build, and
// may keep what it learns of it.
type Kind interface {
	// Ports are the names of its ports.
	Ports() []string
	// Lower makes its elements, and says where packets come in: f.Entry.
	Lower(b *Builder, f *Function)
	// Through is the ports by which packets may leave that came in by the given one.
	Through(f *Function, in string) []string
	// Translated is as Through, for packets on their way to an address: what translates is out of sight from its outside, where
	// its addresses outside are seen.
	Translated(f *Function, in string) (outs []string, seen []netip.Prefix)
	// JoinRealms joins ports by which the same addresses are seen.
	JoinRealms(f *Function, r Realms)
	// Traits are what it does to packets, whatever its rules say.
	Traits() Traits
}

// Traits are what a function does to packets.
type Traits struct {
	// Transparent functions have two sides, and leave addresses and next hops of what they let pass as they are.
	Transparent bool
	// Translates says that addresses behind it are another realm's.
	Translates bool
	// AddressesAlone says that it reads no header but IP's.
	AddressesAlone bool
	// Unforeseen says that it may rewrite packets or choose next hops, by what only its elements tell.
	Unforeseen bool
	// DropsReplies says that it drops what answers a packet that it has not seen.
	DropsReplies bool
	// NeedsBoth says that flows break of which it sees one direction.
	NeedsBoth bool
	// SetsTags says that it writes VLAN tags.
	SetsTags bool
}

// Answering is implemented by kinds that may send packets back by the port that they came in by.
type Answering interface{ Answers(b *Builder) bool }

// Translating is implemented by kinds behind which addresses are another realm's.
type Translating interface {
	// Exempt are the addresses to which packets pass from outside as they are, once it is lowered.
	Exempt() headerspace.Set
	// Open are those, and others to which packets get from outside before anything was sent from inside.
	Open() headerspace.Set
	// Outside is its addresses outside.
	Outside() []netip.Prefix
}

// Between is implemented by kinds that lie outside of the chain, as hosts between two of its interfaces do: what comes to a port leaves by the port's
// interface, and what comes in there leaves by the port.
type Between interface {
	// By is the name of a port's interface.
	By(port string) v1alpha1.Name
}

// Attached is implemented by kinds that have a port which no path and no link names: an interface of the chain lies there.
type Attached interface {
	// Attached are the port, the name of the interface, and the kind's field that says it.
	Attached() (port string, to v1alpha1.Name, field string)
}

// Readable is implemented by kinds that are written as a text, which may have errors.
type Readable interface {
	// Read tells what is wrong with the text; ok is false if nothing is known of the function.
	Read(b *Builder, f *Function) (ok bool)
}

// Linked is implemented by kinds whose elements users link.
type Linked interface {
	// LinkedBy is the field that says how a node is linked.
	LinkedBy(f *Function, node string) (field string)
}

// kinds find what a function is; member is the field that says it.
var kinds []func(*v1alpha1.FunctionKinds) (k Kind, member string)

// Register is called once for each kind.
func Register[M any](member string, of func(*v1alpha1.FunctionKinds) *M, is func(*M) Kind) {
	kinds = append(kinds, func(k *v1alpha1.FunctionKinds) (Kind, string) {
		if spec := of(k); spec != nil {
			return is(spec), member
		}
		return nil, ""
	})
}

// KindOf is what a function is that a kind is, or has in it.
func KindOf(k *v1alpha1.FunctionKinds) Kind {
	is, _ := kindOf(k)
	return is
}

// kindOf is what a function is; unknown if nothing says it.
func kindOf(k *v1alpha1.FunctionKinds) (_ Kind, member string) {
	for _, of := range kinds {
		if k, member := of(k); k != nil {
			return k, member
		}
	}
	return unknown{}, ""
}

// TwoSided is what functions have in common that let packets through from one side to the other.
type TwoSided struct{}

// Ports are the two sides.
func (TwoSided) Ports() []string { return TwoSides }

// Through is the other side.
func (TwoSided) Through(_ *Function, in string) []string { return []string{Opposite(in)} }

// Translated is the other side: nothing is translated.
func (TwoSided) Translated(_ *Function, in string) ([]string, []netip.Prefix) {
	return []string{Opposite(in)}, nil
}

// JoinRealms joins the two sides.
func (TwoSided) JoinRealms(f *Function, r Realms) { r.JoinAll(f) }

// Traits say that it is transparent.
func (TwoSided) Traits() Traits { return Traits{Transparent: true} }

// unknown is a function of which something else is missing, which is said once.
type unknown struct{ TwoSided }

func (unknown) Lower(*Builder, *Function)                               {}
func (unknown) Through(*Function, string) []string                      { return nil }
func (unknown) Translated(*Function, string) ([]string, []netip.Prefix) { return nil, nil }

func (unknown) Traits() Traits { return Traits{} }
