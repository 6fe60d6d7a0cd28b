package programs

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/differential/rig"
)

// TestAgentAndEngineJudgeDamagedBytesAlike damages encoded programs: bytes changed, left out, doubled.
func TestAgentAndEngineJudgeDamagedBytesAlike(t *testing.T) {
	rig.NeedHarness(t)
	e, err := rig.StartHarness(t.Context(), 1, rig.PartitionByHost, rig.ManyDecisions)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { e.Kill() }()
	r := rand.New(rand.NewPCG(1, 0))
	var whole [][]byte
	right := rightPrograms(t)
	for _, name := range slices.Sorted(maps.Keys(right)) {
		b, err := program.Encode(right[name])
		if err != nil {
			t.Fatal(err)
		}
		if len(b) < 20_000 {
			whole = append(whole, b)
		}
	}
	accepted, notDecoded := 0, 0
	const tries = 5_000
	for range tries {
		b := damage(r, whole[r.IntN(len(whole))])
		ok, err := judgeBytes(t, e, b)
		switch {
		case errors.Is(err, errNotDecoded):
			notDecoded++
			e.Kill() // whose answers are nobody's
			if e, err = rig.StartHarness(t.Context(), 1, rig.PartitionByHost, rig.ManyDecisions); err != nil {
				t.Fatal(err)
			}
		case err != nil:
			t.Fatalf("%v: %x", err, b)
		case ok:
			accepted++
		}
	}
	t.Logf("%d of %d were accepted, %d not decoded by the engine alone", accepted, tries, notDecoded)
	if accepted < 50 || notDecoded > 20 {
		t.Error("want more that are accepted, and fewer that the engine alone cannot decode")
	}
	if err := e.Stop(); err != nil {
		t.Error(err)
	}
}

// errNotDecoded is of the parts of a message that a later one replaces: Go does not see what the engine's decoder finds wrong
// with them.
var errNotDecoded = errors.New("the engine cannot decode it")

// judgeBytes is an error if agent and engine disagree on an encoded program, else whether they accept it.
func judgeBytes(t *testing.T, e *rig.Harness, b []byte) (bool, error) {
	t.Helper()
	p, agent := program.Decode(b)
	if agent == nil && (tooLarge(p) || hasNUL(p.ProtoReflect())) {
		return true, nil
	}
	_, engine := e.Load(t.Context(), b, program.Hash(b))
	var refused *control.EngineError
	if engine != nil && !errors.As(engine, &refused) {
		return false, e.Died(engine)
	}
	if agent == nil && engine != nil && strings.Contains(engine.Error(), "are no encoded program") {
		return false, errNotDecoded
	}
	if (agent == nil) != (engine == nil) {
		return false, errors.Join(errors.New("agent and engine disagree"), agent, engine)
	}
	return agent == nil, nil
}

// tooLarge tells whether an engine may lack the memory for a program's state: that is no question of rules.
func tooLarge(p *programpb.Program) bool {
	for _, t := range p.GetTables() {
		if t.GetMaxSessions() == 0 || t.GetMaxSessions() > 1<<20 {
			return true
		}
	}
	return len(p.GetTables()) > 8
}

// hasNUL tells whether a name has a zero byte, which ends it in C.
func hasNUL(m protoreflect.Message) (has bool) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		values := []protoreflect.Value{v}
		if f.IsList() {
			values = values[:0]
			for i := range v.List().Len() {
				values = append(values, v.List().Get(i))
			}
		}
		for _, v := range values {
			if f.Message() != nil {
				has = has || hasNUL(v.Message())
			} else if f.Kind() == protoreflect.StringKind {
				has = has || strings.Contains(v.String(), "\x00")
			}
		}
		return !has
	})
	return has
}

// damage changes a few bytes.
func damage(r *rand.Rand, b []byte) []byte {
	b = append([]byte(nil), b...)
	for range 1 + r.IntN(3) {
		at := r.IntN(len(b))
		switch r.IntN(6) {
		case 0:
			b = append(b[:at], b[at+1:]...)
		case 1:
			b = append(b[:at+1], b[at:]...)
		case 2:
			b[at] = byte(r.Uint32())
		case 3:
			b[at]++
		case 4:
			b[at] ^= 1 << r.IntN(8)
		default:
			end := min(len(b), at+r.IntN(40))
			b = append(b[:end], append(append([]byte(nil), b[at:end]...), b[end:]...)...)
		}
		if len(b) == 0 {
			return []byte{0}
		}
	}
	return b
}
