package manifest

import (
	"fmt"
	"reflect"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/resource"
)

// amount is a resource.Quantity in a CEL rule.
type amount struct{ resource.Quantity }

var amountType = cel.ObjectType("kubernetes.Quantity")

// quantities are the functions of the API server's library for quantities that our rules use
// (https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-quantity-library).
var quantities = cel.Lib(library{
	cel.Function("quantity", cel.Overload("string_to_quantity", []*cel.Type{cel.StringType}, amountType, cel.UnaryBinding(func(v ref.Val) ref.Val {
		q, err := resource.ParseQuantity(fmt.Sprint(v.Value()))
		if err != nil {
			return types.WrapErr(err)
		}
		return &amount{q}
	}))),
	cel.Function("asApproximateFloat", cel.MemberOverload("quantity_as_approximate_float", []*cel.Type{amountType}, cel.DoubleType, cel.UnaryBinding(func(v ref.Val) ref.Val {
		return types.Double(v.(*amount).AsApproximateFloat64())
	}))),
})

type library []cel.EnvOption

func (l library) CompileOptions() []cel.EnvOption     { return l }
func (l library) ProgramOptions() []cel.ProgramOption { return nil }

// ConvertToNative is never called: rules make numbers of quantities.
func (a *amount) ConvertToNative(to reflect.Type) (any, error) {
	return nil, fmt.Errorf("a quantity is no %v", to)
}

// ConvertToType is never called, either.
func (a *amount) ConvertToType(to ref.Type) ref.Val {
	return types.NewErr("a quantity is no %s", to.TypeName())
}

// Equal compares amounts.
func (a *amount) Equal(other ref.Val) ref.Val {
	b, ok := other.(*amount)
	return types.Bool(ok && a.Cmp(b.Quantity) == 0)
}

// Type is the API server's.
func (a *amount) Type() ref.Type { return amountType }

// Value is the quantity itself.
func (a *amount) Value() any { return a.Quantity }
