package confined_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
	"github.com/sinter-nfv/sinter/controllers/confined"
	"github.com/sinter-nfv/sinter/test/hostile"
	"github.com/sinter-nfv/sinter/test/wait"
)

var sink atomic.Uint32

// The program of the tests is what they compile in, too.
func TestMain(m *testing.M) {
	if len(os.Args) != 2 {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "compile", "compile slowly":
		for range 8 * strings.Count(os.Args[1], "slowly") {
			go func() {
				for sum := uint32(0); ; sum++ {
					sink.Store(sum)
				}
			}()
		}
		if err := confined.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "hold":
		held := bytes.Repeat([]byte{1}, 256<<20)
		_, _ = io.Copy(io.Discard, os.Stdin)
		runtime.KeepAlive(held)
	case "fail":
		panic("a defect")
	case "collect": // as Go's collector ends that gets no memory for its queue of spans
		fmt.Fprint(os.Stderr, "SIGSEGV: segmentation violation\nPC=0x43671d m=7 sigcode=1 addr=0x0\n\ngoroutine 0 gp=0xda7cc93c20 m=7 mp=0xda7cbe5808 [idle]:\n"+
			"runtime.(*spanQueue).tryDrain(0x7fb200000400?, 0x43e64f?, 0xe27fbbf0?)\n")
		os.Exit(2)
	case "wait":
		time.Sleep(time.Hour)
	default:
		os.Exit(m.Run())
	}
}

func compiler(t *testing.T, limits confined.Limits, args string) *confined.Compiler {
	t.Helper()
	command, err := confined.Self(args)
	if err != nil {
		t.Fatal(err)
	}
	c := confined.New(limits, 1, command...)
	t.Cleanup(func() { c.Forget() })
	return c
}

var enough = confined.Limits{Memory: 1 << 30, Processor: time.Minute, Clock: time.Minute}

func parse(t *testing.T, text string) *v1alpha1.ServiceChain {
	t.Helper()
	bundle, found := manifest.Parse("x.yaml", []byte(text), os.ReadFile)
	if len(bundle.Chains) != 1 {
		t.Fatal(found)
	}
	return bundle.Chains[0]
}

func compiled(t *testing.T, c *confined.Compiler, j confined.Job) compile.Outcome {
	t.Helper()
	o, err := c.Compile(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAProcessCompilesAsPackageCompileDoes(t *testing.T) {
	samples, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(samples) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	jobs := map[string]confined.Job{}
	for _, sample := range samples {
		bundle, found := manifest.Load(sample)
		if found.HasErrors() {
			t.Fatal(found)
		}
		for _, chain := range bundle.Chains {
			jobs[sample+" "+chain.Name] = confined.Job{Chain: chain, Inputs: compile.Inputs{Functions: bundle.Functions, Text: noText}}
		}
	}
	other := &v1alpha1.NetworkFunction{Spec: v1alpha1.NetworkFunctionSpec{FunctionKinds: v1alpha1.FunctionKinds{Monitor: &v1alpha1.Monitor{}}}}
	other.Namespace, other.Name = "nfv", "edge"
	for name, in := range map[string]compile.Inputs{
		"texts":             {Text: is("action\nDrop\n"), Stored: stored("10.9.0.0/16\n"), StoredBytes: 12, Functions: []*v1alpha1.NetworkFunction{other}},
		"wrong texts":       {Text: is("action\nLet\n"), Stored: stored("10.9.0.0\n")},
		"too many lines":    {Text: is("action\nDrop\n"), Stored: stored("10.9.0.0/16\n"), Policy: compile.Policy{MaxRules: 1}},
		"no texts":          {Text: noText, Stored: noStored},
		"texts not allowed": {Text: noText, Stored: func(*v1alpha1.StoreObject) ([]byte, error) { return nil, errors.New("not allowed") }},
	} {
		in.Backends = func(*v1alpha1.ServiceRef) ([]v1alpha1.Backend, error) {
			return []v1alpha1.Backend{{Address: "10.0.0.7", Port: 80}}, nil
		}
		jobs[name] = confined.Job{Chain: parse(t, everything), Inputs: in}
	}
	c := compiler(t, enough, "compile")
	for name, j := range jobs {
		got, want := compiled(t, c, j), compile.Chain(j.Chain, j.Inputs)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: a process has the outcome\n%+v\nwant\n%+v", name, got, want)
		}
	}
}

// everything refers to texts of both kinds, a Service and a function.
const everything = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: all, namespace: nfv}
spec:
  interfaces:
  - {name: a, address: 10.0.0.1/24}
  - {name: b, address: 10.1.0.1/24}
  functions:
  - {name: fw, firewall: {default: Accept, rulesFrom: {configMapRef: {name: acl, key: rules}, format: CSV}}}
  - {name: lb, loadBalancer: {virtual: [{addresses: [10.1.0.80], ports: [80]}], backendsFrom: {serviceRef: {name: web, port: http}}}}
  - {name: watch, functionRef: {name: edge}}
  - {name: rt, router: {routesFrom: [{store: {url: "http://127.0.0.1:9/a", sha256: "` + sum + `"}, port: outside, via: 10.1.0.9}]}}
  path: [a, fw, lb, watch, rt, b]
`

const sum = "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"

func noText(*v1alpha1.ConfigMapKeyRef) ([]byte, error) { return nil, finding.Missing("there is none") }

func noStored(*v1alpha1.StoreObject) ([]byte, error) { return nil, finding.Missing("there is none") }

func is(text string) func(*v1alpha1.ConfigMapKeyRef) ([]byte, error) {
	return func(*v1alpha1.ConfigMapKeyRef) ([]byte, error) { return []byte(text), nil }
}

func stored(text string) func(*v1alpha1.StoreObject) ([]byte, error) {
	return func(*v1alpha1.StoreObject) ([]byte, error) { return []byte(text), nil }
}

func TestACompileThatTakesMoreThanItMayIsRefusedAndOthersGoOn(t *testing.T) {
	costly, small := parse(t, hostile.Costly("costly", rand.New(rand.NewPCG(1, 2)))), parse(t, everything)
	for name, test := range map[string]struct {
		command string
		limits  confined.Limits
		want    string
	}{
		"memory": {"compile", confined.Limits{Memory: 256 << 20, Processor: time.Minute, Clock: time.Minute}, "to compile the chain takes more than 256 MiB of memory: use fewer rules, or divide the chain, " +
			"or have the administrator raise operator.resources.limits.memory of the chart"},
		"processor time": {"compile slowly", confined.Limits{Memory: 1 << 30, Processor: time.Second, Clock: time.Minute}, "to compile the chain takes more than 1s of processor time: use fewer rules, or divide the chain, " +
			"or have the administrator raise --compile-time (operator.extraArgs of the chart)"},
	} {
		t.Run(name, func(t *testing.T) {
			c := compiler(t, test.limits, test.command)
			o := compiled(t, c, confined.Job{Chain: costly, Inputs: compile.Inputs{Text: noText}})
			if o.Program != nil || o.Reason != v1alpha1.ReasonSynthesisFailed || o.Message != test.want || !o.Findings.HasErrors() {
				t.Errorf("the outcome is %+v, want %s: %s", o, v1alpha1.ReasonSynthesisFailed, test.want)
			}
			if o := compiled(t, c, confined.Job{Chain: small, Inputs: compile.Inputs{Text: noText, Stored: noStored, Backends: noBackends}}); o.Reason != v1alpha1.ReasonInvalid {
				t.Errorf("another chain then has the outcome %s: %s", o.Reason, o.Message)
			}
		})
	}
}

// The cache only saves time. A chain that needs its memory gets it.
func TestACompileGetsTheMemoryThatIsKeptForOthers(t *testing.T) {
	c := compiler(t, confined.Limits{Memory: 640 << 20, Processor: time.Minute, Clock: time.Minute}, "compile")
	holds, err := confined.Self("hold")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Keep(types.NamespacedName{Name: "other"}, holds...); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, 10*time.Second, 10*time.Millisecond, func() error {
		if n := c.KeptMemory(); n < 256<<20 {
			return fmt.Errorf("the process holds %d bytes", n)
		}
		return nil
	})
	small := compile.Inputs{Text: noText, Stored: noStored, Backends: noBackends}
	if compiled(t, c, confined.Job{Chain: parse(t, everything), Inputs: small}); len(c.Kept()) != 1 {
		t.Error("a small chain took memory that is kept")
	}
	o := compiled(t, c, confined.Job{Chain: parse(t, hostile.Costly("costly", rand.New(rand.NewPCG(1, 2)))), Inputs: compile.Inputs{Text: noText}})
	if o.Reason != v1alpha1.ReasonTooLarge || len(c.Kept()) != 0 {
		t.Errorf("a large chain has the outcome %s: %s; %d processes are kept", o.Reason, o.Message, len(c.Kept()))
	}
}

func noBackends(*v1alpha1.ServiceRef) ([]v1alpha1.Backend, error) {
	return nil, finding.Missing("there is none")
}

func TestAFailureOfTheCompilerIsToldAsOne(t *testing.T) {
	o := compiled(t, compiler(t, enough, "fail"), confined.Job{Chain: parse(t, hostile.Costly("costly", rand.New(rand.NewPCG(1, 2)))), Inputs: compile.Inputs{Text: noText}})
	if o.Program != nil || o.Reason != v1alpha1.ReasonSynthesisFailed || !strings.HasPrefix(o.Message, "the compiler has failed, which is a defect of Sinter: ") {
		t.Errorf("the outcome is %s: %s", o.Reason, o.Message)
	}
}

func TestACollectorThatGetsNoMemoryIsNoDefect(t *testing.T) {
	o := compiled(t, compiler(t, enough, "collect"), confined.Job{Chain: parse(t, everything), Inputs: compile.Inputs{Text: noText, Stored: noStored, Backends: noBackends}})
	if o.Reason != v1alpha1.ReasonSynthesisFailed || !strings.HasPrefix(o.Message, "to compile the chain takes more than ") {
		t.Errorf("the outcome is %s: %s; want that of a limit of memory", o.Reason, o.Message)
	}
}

// The webhook waits for some seconds only. What it waited for takes nothing from others any more.
func TestACompileEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	job := confined.Job{Chain: parse(t, hostile.Costly("costly", rand.New(rand.NewPCG(1, 2)))), Inputs: compile.Inputs{Text: noText}}
	if o, err := compiler(t, enough, "wait").Compile(ctx, job); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the outcome is %+v, the error %v; want that of the context", o, err)
	}
	stuck := compiler(t, confined.Limits{Memory: 1 << 30, Processor: time.Minute, Clock: 200 * time.Millisecond}, "wait")
	if o, err := stuck.Compile(t.Context(), job); err == nil || !strings.Contains(err.Error(), "has not ended after 200ms") {
		t.Errorf("of a process that never ends the outcome is %+v, the error %v", o, err)
	}
}

// A small change of a large table takes a fraction of the time, but the program must be the one that a new process makes.
func TestAChainsNextVersionIsCompiledInTheSameProcess(t *testing.T) {
	chain := parse(t, strings.Replace(everything, "loadBalancer: {virtual: [{addresses: [10.1.0.80], ports: [80]}], backendsFrom: {serviceRef: {name: web, port: http}}}", "monitor: {}", 1))
	chain.Spec.Functions[2].FunctionRef, chain.Spec.Functions[2].Monitor = nil, &v1alpha1.Monitor{}
	c := compiler(t, enough, "compile")
	job := func(routes string) confined.Job {
		return confined.Job{Chain: chain, Alone: true, Inputs: compile.Inputs{
			Text: is("action\nDrop\n"), Stored: stored(routes), StoredBytes: len(routes),
		}}
	}
	if err := c.Keep(types.NamespacedName{Namespace: "nfv", Name: "all"}, "false"); err != nil { // it has ended when it is wanted
		t.Fatal(err)
	}
	var pids []int
	for i, routes := range []string{"10.9.0.0/16\n", "10.9.0.0/16\n10.10.0.0/16\n", "10.10.0.0/16\n"} {
		if i == 2 {
			c.Forget(types.NamespacedName{Namespace: "nfv", Name: "other"})
		}
		got, want := compiled(t, c, job(routes)), compile.Chain(chain, job(routes).Inputs)
		if got.Program == nil || !reflect.DeepEqual(got, want) {
			t.Errorf("version %d has the outcome\n%+v\nwant\n%+v", i, got, want)
		}
		pids = append(pids, c.Kept()...)
	}
	if len(pids) != 3 || pids[0] != pids[1] || pids[1] != pids[2] {
		t.Errorf("after three versions the processes %v were kept, want the same each time", pids)
	}
	c.Forget(types.NamespacedName{Namespace: "nfv", Name: "all"})
	if n := len(c.Kept()); n > 0 {
		t.Errorf("of a chain that is gone %d processes are kept", n)
	}
}

// How much longer does a small chain take because it is compiled in a process of its own?
func BenchmarkSmallChain(b *testing.B) {
	bundle, found := manifest.Load("../../config/samples/snf.yaml")
	if found.HasErrors() {
		b.Fatal(found)
	}
	job := confined.Job{Chain: bundle.Chains[0], Inputs: compile.Inputs{Functions: bundle.Functions, Text: noText}}
	command, err := confined.Self("compile")
	if err != nil {
		b.Fatal(err)
	}
	for name, c := range map[string]*confined.Compiler{"here": nil, "process": confined.New(enough, 1, command...)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Compile(b.Context(), job); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
