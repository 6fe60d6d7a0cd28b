package program_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

func TestEveryOperationOfTheSchemaIsRegistered(t *testing.T) {
	for name, o := range members(&programpb.Op{}, "op") {
		if known, ok := rule.OperationOf(o); !ok || known.Check == nil || known.Text == nil {
			t.Errorf("%s: no operation is registered that checks it and says it in words", name)
		}
	}
}

func TestEveryOutcomeOfTheSchemaIsRegistered(t *testing.T) {
	for name, l := range members(&programpb.Leg{}, "outcome") {
		if known, ok := rule.OutcomeOf(l); !ok || known.Check == nil {
			t.Errorf("%s: no outcome is registered that checks it", name)
		}
	}
}

// members are copies of a message, each with one of the members of a oneof, by the member's name.
func members[M proto.Message](m M, oneof protoreflect.Name) map[protoreflect.Name]M {
	all, fields := map[protoreflect.Name]M{}, m.ProtoReflect().Descriptor().Oneofs().ByName(oneof).Fields()
	for i := range fields.Len() {
		field, with := fields.Get(i), m.ProtoReflect().New()
		if field.Kind() == protoreflect.MessageKind {
			with.Set(field, with.NewField(field))
		} else {
			with.Set(field, field.Default())
		}
		all[field.Name()] = with.Interface().(M)
	}
	return all
}
