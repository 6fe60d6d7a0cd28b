package program

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func TestEveryOperationOfTheSchemaHasARow(t *testing.T) {
	members := (&programpb.Op{}).ProtoReflect().Descriptor().Oneofs().ByName("op").Fields()
	for i := range members.Len() {
		o := &programpb.Op{}
		member := members.Get(i)
		if member.Kind() == protoreflect.MessageKind {
			o.ProtoReflect().Set(member, o.ProtoReflect().NewField(member))
		} else {
			o.ProtoReflect().Set(member, member.Default())
		}
		row, ok := operationOf(o)
		if !ok || row.check == nil || row.text == nil {
			t.Errorf("%s: the table of operations has no row that checks it and says it in words", member.Name())
		}
	}
}
