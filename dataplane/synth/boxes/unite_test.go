package boxes

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// classOf is the class of the first box that holds a packet.
func classOf(t *programpb.Table, at [2]uint32, bits uint64) int {
	for i, class := range t.Classes {
		holds := t.Required[i]&^bits == 0
		for d := range t.Dims {
			lo, hi := t.Bounds[4*i+2*d], t.Bounds[4*i+2*d+1]
			holds = holds && lo <= at[d] && at[d] <= hi
		}
		if holds {
			return int(class)
		}
	}
	return -1
}

func TestUnitedBoxesFindTheClassesThatTheyFoundApart(t *testing.T) {
	joined := 0
	rapid.Check(t, func(t *rapid.T) {
		table := &programpb.Table{Dims: []programpb.Field{programpb.Field_DST, programpb.Field_TTL}, Bits: []*programpb.BitSet{{}}}
		add := func(class, lo, hi, ttl uint32, bit uint64) {
			table.Classes = append(table.Classes, class)
			table.Bounds = append(table.Bounds, lo, hi, 0, ttl)
			table.Required = append(table.Required, bit)
		}
		for range rapid.IntRange(1, 4).Draw(t, "runs") {
			class, ttl, bit := rapid.Uint32Range(0, 2).Draw(t, "class"), rapid.Uint32Range(0, 1).Draw(t, "ttl"), rapid.Uint64Range(0, 1).Draw(t, "bit")
			for range rapid.SampledFrom([]int{1, many, many + 1, 3 * many}).Draw(t, "boxes") {
				lo := rapid.Uint32Range(0, 2000).Draw(t, "lo")
				if rapid.IntRange(0, 9).Draw(t, "high") == 0 {
					lo = ^uint32(0) - lo
				}
				add(class, lo, max(lo, lo+rapid.Uint32Range(0, 9).Draw(t, "more")), ttl, bit)
			}
		}
		add(3, 0, ^uint32(0), 255, 0)
		united := proto.Clone(table).(*programpb.Table)
		Unite(united)
		n := len(united.Classes)
		if len(united.Bounds) != 4*n || len(united.Required) != n || n > len(table.Classes) || united.Classes[n-1] != 3 {
			t.Fatalf("of %d boxes, %d are left with %d bounds and %d words", len(table.Classes), n, len(united.Bounds), len(united.Required))
		}
		joined += len(table.Classes) - n
		for range 200 {
			at, bits := [2]uint32{rapid.Uint32Range(0, 2020).Draw(t, "at"), rapid.Uint32Range(0, 2).Draw(t, "ttl at")}, rapid.Uint64Range(0, 1).Draw(t, "bits")
			if rapid.IntRange(0, 9).Draw(t, "high at") == 0 {
				at[0] = ^at[0]
			}
			if got, want := classOf(united, at, bits), classOf(table, at, bits); got != want {
				t.Fatalf("%v with bits %b is of class %d, want %d", at, bits, got, want)
			}
		}
	})
	if joined == 0 {
		t.Error("no boxes were joined")
	}
}

func TestFewBoxesStayAsTheyAre(t *testing.T) {
	table := &programpb.Table{Dims: []programpb.Field{programpb.Field_DST}}
	for i := range uint32(many + 1) { // the last is apart
		table.Classes, table.Bounds = append(table.Classes, 0), append(table.Bounds, i, i)
	}
	want := proto.Clone(table)
	if Unite(table); !proto.Equal(table, want) {
		t.Errorf("the table became %v", table)
	}
}
