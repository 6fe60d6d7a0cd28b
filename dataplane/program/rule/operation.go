package rule

import (
	"reflect"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// OpKind sorts operations by what they do.
type OpKind int

// Kinds of operations.
const (
	Write OpKind = iota // writes a header field
	State               // looks a flow up
	Route               // notes a next hop
	Note                // counts
)

// Operation is all that Go has to know of an operation. What it does to a packet is the engine's (operation/ there).
type Operation struct {
	Kind OpKind
	// Check refuses an operation that does not fit the program. Its messages begin with at, the place in the program.
	Check func(p *programpb.Program, at string, o *programpb.Op) error
	// Text says in words what the operation does.
	Text func(p *programpb.Program, o *programpb.Op) string
	// Unless are the reasons under which a packet may be dropped, for what no header says; nil: there are none.
	Unless func(p *programpb.Program, o *programpb.Op) []string
	// TTL tells whether it lowers the TTL, or raises or sets it; nil: neither.
	TTL func(o *programpb.Op) (lowers, raises bool)
	// Leaves notes what is known of the packet behind it; nil: no more than before.
	Leaves func(p *programpb.Program, x *Exit, o *programpb.Op)
	// Hops are the next hops that it may note; nil: it notes none. The program need not be checked yet.
	Hops func(p *programpb.Program, o *programpb.Op) []uint32
}

// operations are by the type of Op's member.
var operations = map[reflect.Type]Operation{}

// RegisterOperation adds the operation that is Op's member M, such as *programpb.Op_Set.
func RegisterOperation[M any](o Operation) { add(operations, reflect.TypeFor[M](), o) }

// OperationOf is what is known of an operation; false: it is empty.
func OperationOf(o *programpb.Op) (Operation, bool) {
	known, ok := operations[reflect.TypeOf(o.GetOp())]
	return known, ok
}
