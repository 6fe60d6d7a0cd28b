package programs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/backbone"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/repository"
)

// TestAgentAndEngineJudgeAlmostRightProgramsAlike changes programs in one place at a time: a number next to what it was or to a bound, an
// element left out, doubled or out of order. What the agent's decoder accepts, the engine loads; what it refuses, the engine refuses.
func TestAgentAndEngineJudgeAlmostRightProgramsAlike(t *testing.T) {
	rig.NeedHarness(t)
	for name, p := range rightPrograms(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig.Engines <- struct{}{}
			defer func() { <-rig.Engines }()
			e, err := rig.StartHarness(t.Context(), 1, rig.PartitionByHost, rig.ManyDecisions)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Kill()
			m := mutator{Rand: rand.New(rand.NewPCG(1, 0)), most: rig.Scale(3, 2)}
			judged, accepted := 0, 0
			m.message(p.ProtoReflect(), "program", func(what string) {
				if m.IntN(rig.Scale(3, 12)) == 0 && !t.Failed() {
					judged++
					if judge(t, e, p, what) {
						accepted++
					}
				}
			})
			if accepted == 0 || accepted == judged {
				t.Errorf("%d of %d mutants were accepted; the test wants some of both", accepted, judged)
			}
			t.Logf("%d mutants, %d accepted", judged, accepted)
			if err := e.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// judge fails unless agent and engine agree, and tells whether they accept the program.
func judge(t *testing.T, e *rig.Harness, p *programpb.Program, what string) bool {
	t.Helper()
	encoded, err := program.Encode(p)
	if err != nil {
		return false // a name that is no UTF-8
	}
	_, agent := program.Decode(encoded)
	_, engine := e.Load(t.Context(), encoded, program.Hash(encoded))
	var refused *control.EngineError
	if engine != nil && !errors.As(engine, &refused) {
		t.Fatalf("%s: %v", what, e.Died(engine))
	}
	if (agent == nil) != (engine == nil) {
		t.Errorf("%s:\nagent:  %v\nengine: %v", what, agent, engine)
	}
	return agent == nil
}

// rightPrograms are the examples that all accept, and programs of random chains.
func rightPrograms(t *testing.T) map[string]*programpb.Program {
	t.Helper()
	out := map[string]*programpb.Program{}
	for _, name := range []string{"as-it-is", "cycle-lowers-ttl", "bits-65", "meter", "meter-peak", "balancer"} {
		path, err := repository.Path("dataplane", "program", "testdata", "rules", name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if out[name], err = program.Decode(b); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range draw.Shapes {
		g := rapid.Custom(func(rt *rapid.T) *rig.Rig {
			r, err := rig.New(draw.Chain(rt, s))
			if err != nil {
				rt.Fatal(err)
			}
			return r
		}).Example(1)
		out[s.Name] = g.Result.Program
	}
	return out
}

// mutator changes a message in place, one change at a time, and takes each back.
type mutator struct {
	*rand.Rand
	most int // elements of a list that are changed
}

// message changes every field; try is told what was changed.
func (m *mutator) message(msg protoreflect.Message, at string, try func(string)) {
	fields := msg.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		at := at + "." + string(f.Name())
		switch {
		case f.IsList():
			m.list(msg, f, at, try)
		case !msg.Has(f) && f.ContainingOneof() != nil || f.Message() != nil && !msg.Has(f):
		case f.Message() != nil:
			m.message(msg.Mutable(f).Message(), at, try)
			old := msg.Get(f)
			msg.Clear(f)
			try(at + " left out")
			msg.Set(f, old)
		default:
			old := msg.Get(f)
			for _, v := range m.values(f, old) {
				msg.Set(f, v)
				try(fmt.Sprintf("%s: %v instead of %v", at, v, old))
			}
			msg.Set(f, old)
		}
	}
}

// list changes some of a list's elements, and their number and order.
func (m *mutator) list(msg protoreflect.Message, f protoreflect.FieldDescriptor, at string, try func(string)) {
	list := msg.Mutable(f).List()
	n := list.Len()
	for _, i := range m.some(n) {
		at := fmt.Sprintf("%s[%d]", at, i)
		if f.Message() != nil {
			m.message(list.Get(i).Message(), at, try)
			continue
		}
		old := list.Get(i)
		for _, v := range m.values(f, old) {
			list.Set(i, v)
			try(fmt.Sprintf("%s: %v instead of %v", at, v, old))
		}
		list.Set(i, old)
	}
	if n == 0 {
		return
	}
	last := list.Get(n - 1)
	list.Truncate(n - 1)
	try(at + " without the last")
	list.Append(last)
	list.Append(last)
	try(at + " with the last twice")
	list.Truncate(n)
	if n > 1 {
		i := m.IntN(n - 1)
		a, b := list.Get(i), list.Get(i+1)
		list.Set(i, b)
		list.Set(i+1, a)
		try(fmt.Sprintf("%s[%d] and the next one changed over", at, i))
		list.Set(i, a)
		list.Set(i+1, b)
	}
}

// some are the first, the last and some other indexes.
func (m *mutator) some(n int) []int {
	if n <= m.most {
		return m.Perm(n)
	}
	out := []int{0, n - 1}
	for len(out) < m.most {
		out = append(out, m.IntN(n))
	}
	return out
}

// sizes of state are memory that an engine may not have: that is no question of rules.
func isSize(f protoreflect.FieldDescriptor) bool {
	return strings.HasSuffix(string(f.Name()), "max_sessions") || f.Parent().Name() == "AddressRange"
}

// values are other ones for a field: next to what it is, and at bounds.
func (m *mutator) values(f protoreflect.FieldDescriptor, old protoreflect.Value) []protoreflect.Value {
	var out []protoreflect.Value
	add := func(x ...any) {
		for _, v := range x {
			out = append(out, protoreflect.ValueOf(v))
		}
	}
	switch f.Kind() {
	case protoreflect.BoolKind:
		add(!old.Bool())
	case protoreflect.EnumKind:
		for _, n := range []protoreflect.EnumNumber{old.Enum() + 1, old.Enum() - 1, 12, 26, 45, 63, 64, 99, -1} {
			out = append(out, protoreflect.ValueOfEnum(n))
		}
	case protoreflect.Sint32Kind:
		v := int32(old.Int())
		add(v+1, v-1, int32(0), int32(255), int32(-255), int32(256), int32(-256), int32(math.MaxInt32), int32(math.MinInt32))
	case protoreflect.Fixed64Kind:
		add(old.Uint()+1, old.Uint()<<1, uint64(0), uint64(math.MaxUint64))
	case protoreflect.Uint64Kind:
		v := old.Uint()
		add(v+1, v-1, uint64(0), uint64(1), uint64(9_200_000_000), uint64(9_200_000_001), uint64(math.MaxUint64))
	case protoreflect.StringKind:
		add("", old.String()+"x", strings.Repeat("long ", 100))
	case protoreflect.BytesKind:
		add(append([]byte{1}, old.Bytes()...), []byte{})
	default: // uint32, fixed32
		v := uint32(old.Uint())
		add(v+1, v-1, uint32(1))
		if !isSize(f) {
			for _, at := range []uint32{0, 32, 63, 67, 68, 255, 256, 4096, 65535, 65536, math.MaxUint32} {
				add(at, at+1)
			}
		}
	}
	return out
}

// TestCompilerAgentAndEngineAgreeOnRandomChains compiles random chains of all shapes, and networks: what the compiler writes, agent and
// engine take. make networks has 2,000 of them.
func TestCompilerAgentAndEngineAgreeOnRandomChains(t *testing.T) {
	rig.NeedHarness(t)
	e, err := rig.StartHarness(t.Context(), 1, rig.PartitionByHost, rig.ManyDecisions)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Kill()
	chains := 0
	for seed := range rig.Seeds(t, "SINTER_NETWORKS", rig.Scale(16, 4)) {
		for i := range 5 {
			err := agreeOn(t.Context(), t, e, seed, i)
			if err != nil {
				t.Errorf("seed %d, chain %d: %v", seed, i, err)
			}
			chains++
		}
	}
	t.Logf("%d chains", chains)
	if err := e.Stop(); err != nil {
		t.Error(err)
	}
}

// TestRoutersInARowWithManyRoutesAreAcceptedByCompilerAgentAndEngine has what the tables say together cut into segments that lead back
// to each other.
func TestRoutersInARowWithManyRoutesAreAcceptedByCompilerAgentAndEngine(t *testing.T) {
	rig.NeedHarness(t)
	e, err := rig.StartHarness(t.Context(), 1, rig.PartitionByHost, rig.ManyDecisions)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Kill()
	for _, routes := range []int{180, 400, 1000} {
		r, err := rig.New(backbone.Row(t, 3, routes))
		if err == nil {
			err = takenBy(t.Context(), e, r)
		}
		if err != nil {
			t.Errorf("three routers of %d routes each: %v", routes, err)
		}
	}
	if err := e.Stop(); err != nil {
		t.Error(err)
	}
}

// agreeOn compiles the chain of a seed: one of the shapes, or a network.
func agreeOn(ctx context.Context, t *testing.T, e *rig.Harness, seed uint64, i int) error {
	t.Helper()
	shape := int(seed)*5 + i
	var r *rig.Rig
	var err error
	if i%2 == 0 {
		r, err = rig.New(draw.NewNetwork(seed*5 + uint64(i)).Graph(t))
		if err != nil {
			return fmt.Errorf("compiler: %w", err)
		}
	} else {
		r = rapid.Custom(func(rt *rapid.T) *rig.Rig {
			r, err := rig.New(draw.Chain(rt, draw.Shapes[shape%len(draw.Shapes)]))
			if err != nil {
				rt.Fatalf("compiler: %v", err)
			}
			return r
		}).Example(shape)
	}
	return takenBy(ctx, e, r)
}

// takenBy has agent and engine read what the compiler wrote.
func takenBy(ctx context.Context, e *rig.Harness, r *rig.Rig) error {
	encoded, err := program.Encode(r.Result.Program)
	if err != nil {
		return err
	}
	decoded, err := program.Decode(encoded)
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	if !proto.Equal(decoded, r.Result.Program) {
		return errors.New("the agent reads another program")
	}
	if _, err := e.Load(ctx, encoded, program.Hash(encoded)); err != nil {
		return fmt.Errorf("engine: %w", e.Died(err))
	}
	return nil
}
