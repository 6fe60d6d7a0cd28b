package lower

import (
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Port is a port of a function, or an interface (with an empty name).
type Port struct{ Owner, Name string }

func (p Port) String() string {
	if p.Name == "" {
		return p.Owner
	}
	return p.Owner + "." + p.Name
}

// Function is a network function of the chain, wherever it is written.
type Function struct {
	Name string
	// Object is where it is written: the chain, or a NetworkFunction.
	Object finding.Object
	// Path is that of its kind's member, there.
	Path string
	// Declared is the path of its entry in the chain.
	Declared string
	Kind     Kind
	Ports    []string
	// Entry is, per port, where packets come in.
	Entry map[string]Edge
}

// Port is one of its ports.
func (f *Function) Port(name string) Port { return Port{f.Name, name} }

// known tells whether it is known what the function is.
func (f *Function) known() bool { return f.Kind != Kind(unknown{}) }

// The ports of functions with two sides.
const (
	Inside  = "inside"
	Outside = "outside"
)

// TwoSides are those ports.
var TwoSides = []string{Inside, Outside}

// Opposite is the other side.
func Opposite(side string) string {
	if side == Inside {
		return Outside
	}
	return Inside
}

// From tells whether what is for packets from one side, or from both if that is empty, is for those that come in by a port.
func From(from v1alpha1.Side, port string) bool {
	return from == "" || from == v1alpha1.SideOutside == (port == Outside)
}

// Index is the field of an entry of a list.
func Index(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }

// Outs numbers outputs by name.
type Outs struct{ Names []string }

// NewOuts are outputs of which the first have these names.
func NewOuts(names ...string) *Outs { return &Outs{names} }

// Number is the number of a name.
func (o *Outs) Number(name string) int {
	if i := slices.Index(o.Names, name); i >= 0 {
		return i
	}
	o.Names = append(o.Names, name)
	return len(o.Names) - 1
}
