// Package rule is the framework for the rules of packet programs. It has tables of operations, of outcomes and of kinds of
// state, and helpers for checks. It names no function: each function registers what it has (dataplane/module), and package
// program, which walks programs, asks these tables.
package rule

import (
	"fmt"
	"reflect"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// add registers what is known of a member of the schema.
func add[V any](table map[reflect.Type]V, member reflect.Type, v V) {
	if _, twice := table[member]; twice {
		panic(fmt.Sprintf("%s is registered twice", member))
	}
	table[member] = v
}

var checks []func(p *programpb.Program) error

// RegisterCheck adds a check of the whole program. It is for fields of Program that one function alone uses.
func RegisterCheck(check func(p *programpb.Program) error) { checks = append(checks, check) }

// Check does all registered checks of the whole program, up to the first error.
func Check(p *programpb.Program) error {
	return Each(checks, func(_ int, check func(p *programpb.Program) error) error { return check(p) })
}
