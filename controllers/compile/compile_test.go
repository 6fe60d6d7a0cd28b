package compile_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
	"github.com/sinter-nfv/sinter/controllers/words"
	"github.com/sinter-nfv/sinter/dataplane/compiler"
)

func TestTheClusterCompilesWhatTheCommandLineCompiles(t *testing.T) {
	samples, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(samples) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, sample := range samples {
		bundle, found := manifest.Load(sample)
		if found.HasErrors() {
			t.Fatal(found)
		}
		for _, chain := range bundle.Chains {
			p, _, err := compiler.Compile(compiler.Sources{Chain: chain, Functions: bundle.Functions, Files: bundle.Files})
			if err != nil {
				t.Fatal(err)
			}
			got := compile.Chain(chain, compile.Inputs{Functions: bundle.Functions, Text: none})
			if got.Program == nil {
				t.Errorf("%s: chain %s does not compile: %s", sample, chain.Name, got.Message)
				continue
			}
			if want := p.Hash; got.Program.Hash != want || !strings.HasSuffix(got.Program.Name(chain.Name), want[:10]) {
				t.Errorf("%s: program %s has hash %s, sinterctl's has %s", sample, got.Program.Name(chain.Name), got.Program.Hash, want)
			}
			flowMemory := int32(0)
			if chain.Name == "flows" { // which exports them
				flowMemory = 96
			}
			if got := got.Program.FlowMemoryMiB; got != flowMemory {
				t.Errorf("%s: agents of %s get %d MiB for flows, want %d", sample, chain.Name, got, flowMemory)
			}
			z, err := gzip.NewReader(bytes.NewReader(got.Program.Packed))
			if err != nil {
				t.Fatal(err)
			}
			if data, err := io.ReadAll(z); err != nil || !bytes.Equal(data, p.Encoded) {
				t.Errorf("%s: the packed program of %s unpacks to another one (%v)", sample, chain.Name, err)
			}
		}
	}
}

func none(*v1alpha1.ConfigMapKeyRef) ([]byte, error) { return nil, errors.New("there is none") }

const chain = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: guarded}
spec:
  interfaces:
  - {name: a, address: 10.0.0.1/24}
  - {name: b, address: 10.1.0.1/24}
  functions:
  - name: fw
    firewall:
      rulesFrom: {configMapRef: {name: acl, key: rules}, format: CSV}
  path: [a, fw, b]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: acl}
data: {rules: "action\nAccept\n"}
`

func TestTheReasonTellsWhyThereIsNoProgram(t *testing.T) {
	bundle, found := manifest.Parse("x.yaml", []byte(chain), os.ReadFile)
	if len(found) > 0 {
		t.Fatal(found)
	}
	for name, test := range map[string]struct {
		text            func(*v1alpha1.ConfigMapKeyRef) ([]byte, error)
		reason, message string
	}{
		"the text is there":   {is("action,protocol\nAccept,tcp\n"), v1alpha1.ReasonCompiled, "traffic classes"},
		"the text is missing": {none, v1alpha1.ReasonInvalid, `spec.functions[0].firewall.rulesFrom.configMapRef: "acl/rules": there is none`},
		"a rule is wrong":     {is("action\nLet\n"), v1alpha1.ReasonInvalid, `configmap/acl/rules:2: action: "Let": not an action; write Accept, Drop or Reject`},
		"rules shadow others": {is("action,name\nAccept,all\nDrop,some\n"), v1alpha1.ReasonCompiled, "never decides a packet"},
		"too many conditions": {is(conditions()), v1alpha1.ReasonSynthesisFailed, "chain guarded"},
		"too many rules":      {is(flows(40_000)), v1alpha1.ReasonTooLarge, "an object of the cluster takes 1048576"},
		"a bomb":              {is(bomb(t)), v1alpha1.ReasonInvalid, "more than 33554432 bytes when unpacked"},
	} {
		t.Run(name, func(t *testing.T) {
			got := compile.Chain(bundle.Chains[0], compile.Inputs{Text: test.text})
			if got.Reason != test.reason || !strings.Contains(got.Message, test.message) {
				t.Errorf("the outcome is %s: %s; wanted %s: %s", got.Reason, got.Message, test.reason, test.message)
			}
			if (got.Program != nil) != (test.reason == v1alpha1.ReasonCompiled) {
				t.Errorf("program is %v with reason %s", got.Program, got.Reason)
			}
		})
	}
}

func TestAChainTakesSoManyLinesFromConfigMapsAsTheAdministratorSays(t *testing.T) {
	rules, _ := manifest.Parse("x.yaml", []byte(chain), os.ReadFile)
	routes, _ := manifest.Parse("x.yaml", []byte(strings.Replace(chain, "firewall:\n      rulesFrom: {configMapRef: {name: acl, key: rules}, format: CSV}",
		"router: {routesFrom: [{configMapRef: {name: acl, key: rules}, port: outside}, {configMapRef: {name: acl, key: more}, port: inside}]}", 1)), os.ReadFile)
	if len(rules.Chains) != 1 || len(routes.Chains) != 1 || routes.Chains[0].Spec.Functions[0].Router == nil {
		t.Fatal("the chains are not as this test needs them")
	}
	twice := func(ref *v1alpha1.ConfigMapKeyRef) ([]byte, error) {
		if ref.Key == "more" {
			return []byte("20.0.0.0/8\n21.0.0.0/8\n22.0.0.0/8\n"), nil
		}
		return []byte("30.0.0.0/8\n31.0.0.0/8\n"), nil
	}
	for name, test := range map[string]struct {
		chain  *v1alpha1.ServiceChain
		policy compile.Policy
		text   func(*v1alpha1.ConfigMapKeyRef) ([]byte, error)
		want   string // empty: it compiles
	}{
		"as many rules":      {rules.Chains[0], compile.Policy{MaxRules: 3}, is("action\nDrop\nAccept\n"), ""},
		"any number":         {rules.Chains[0], compile.Policy{MaxRoutes: 1}, is("action\nDrop\nAccept\n"), ""},
		"a rule too many":    {rules.Chains[0], compile.Policy{MaxRules: 2}, is("action\nDrop\nAccept\n"), "configmap/acl/rules:3: with this line, the chain's texts from ConfigMaps have more than 2 rules: write fewer, divide the chain, or have the administrator raise operator.maxRules of the chart"},
		"as many routes":     {routes.Chains[0], compile.Policy{MaxRoutes: 5, MaxRules: 1}, twice, ""},
		"a route of another": {routes.Chains[0], compile.Policy{MaxRoutes: 4}, twice, "configmap/acl/more:3: with this line, the chain's texts from ConfigMaps have more than 4 routes"},
	} {
		got := compile.Chain(test.chain, compile.Inputs{Text: test.text, Policy: test.policy})
		if (got.Program != nil) != (test.want == "") || !strings.Contains(got.Message, test.want) {
			t.Errorf("%s: the outcome is %s: %s; wanted %q", name, got.Reason, got.Message, test.want)
		}
	}
}

// Objects that were stored before the values of an enumeration changed do not pass the API server again.
func TestAStoredChainWithOldValuesIsToldTheNewOnes(t *testing.T) {
	bundle, found := manifest.Load("../../config/samples/snf.yaml")
	if len(found) > 0 {
		t.Fatal(found)
	}
	c := bundle.Chains[0]
	c.Spec.Functions[0].Elements.Elements[2].Kind = "dec-ttl"
	c.Spec.Functions[2].Elements.Elements[1].SetField.Field = "dst"
	got := compile.Chain(c, compile.Inputs{Text: none})
	for _, want := range []string{
		`spec.functions[0].elements.elements[2].kind: "dec-ttl": must be one of CheckIPHeader, Classifier, `, `; write "DecTTL"`,
		`spec.functions[2].elements.elements[1].setField.field: "dst": must be one of DSCP, Destination, `, `; write "Destination"`,
	} {
		if got.Reason != v1alpha1.ReasonInvalid || !strings.Contains(got.Message, want) {
			t.Errorf("the outcome is %s: %s; wanted %s: %s", got.Reason, got.Message, v1alpha1.ReasonInvalid, want)
		}
	}
}

func TestAChainNamesDevicesOnlyWhereTheAdministratorAllowsIt(t *testing.T) {
	bundle, found := manifest.Parse("x.yaml", []byte(strings.Replace(chain, "address: 10.0.0.1/24", "address: 10.0.0.1/24, device: \"net_pcap0,rx_iface=eth0\"", 1)), os.ReadFile)
	if len(found) > 0 {
		t.Fatal(found)
	}
	c := bundle.Chains[0]
	inputs := compile.Inputs{Text: is("action,protocol\nAccept,tcp\n")}
	if got := compile.Chain(c, inputs); got.Program != nil || got.Reason != v1alpha1.ReasonInvalid || !strings.Contains(got.Message, `spec.interfaces[0].device: "net_pcap0,rx_iface=eth0": chains of this cluster do not name devices`) {
		t.Errorf("the outcome is %s: %s; wanted that the device is refused", got.Reason, got.Message)
	}
	inputs.Policy.Devices = true
	if got := compile.Chain(c, inputs); got.Program == nil {
		t.Errorf("where devices are allowed: %s: %s", got.Reason, got.Message)
	}
	inputs.Policy.Devices = false
	c.Spec.Interfaces[0].NetworkRef = &v1alpha1.NetworkRef{Name: "lan"}
	if got := compile.Chain(c, inputs); got.Program == nil {
		t.Errorf("beside a network, which the pod is attached to: %s: %s", got.Reason, got.Message)
	}
}

func TestAChainRunsImagesThatTheAdministratorAllows(t *testing.T) {
	boxed := strings.NewReplacer(
		"  path: [a, fw, b]", "  - {name: ips, blackbox: {inside: i, outside: o, whenDown: Closed, image: \"registry.example/nfv/ips:7\"}}\n  path: [a, fw, ips, b]",
		"  functions:", "  - {name: i, wire: true}\n  - {name: o, wire: true}\n  functions:").Replace(chain)
	bundle, found := manifest.Parse("x.yaml", []byte(boxed), os.ReadFile)
	if len(found) > 0 {
		t.Fatal(found)
	}
	c := bundle.Chains[0]
	inputs := compile.Inputs{Text: is("action,protocol\nAccept,tcp\n")}
	for allowed, want := range map[string]bool{
		"*": true, "registry.example/": true, "registry.example/nfv/": true, "registry.example/nfv/ips": true, "registry.example/nfv/ips:7": true,
		"": false, "registry.example": false, "registry.example/nfv": false, "registry.example/nfv/ip": false, "registry.example/nfv/ips:70": false, "other.example/": false,
	} {
		inputs.Policy.Images = []string{"ghcr.io/", allowed}
		if allowed == "" {
			inputs.Policy.Images = nil
		}
		got := compile.Chain(c, inputs)
		if refused := strings.Contains(got.Message, `spec.functions[1].blackbox.image: "registry.example/nfv/ips:7": chains of this cluster may not run this image`); want != (got.Program != nil) || want == refused {
			t.Errorf("with %q allowed: %s: %s", allowed, got.Reason, got.Message)
		}
	}
	for image, want := range map[string]bool{
		"registry.example@sha256:0": true, "registry.example:5000": true, "registry.example:5000/nfv/ips": false, "registry.example.net/ips": false, "registry.example/../ips": false,
	} {
		if got := (compile.Policy{Images: []string{"registry.example"}}).Allows(image); got != want {
			t.Errorf("the name registry.example allows %s: %t", image, got)
		}
	}

	shared := &v1alpha1.NetworkFunction{}
	shared.Namespace, shared.Name, shared.Spec.Blackbox = c.Namespace, "shared", c.Spec.Functions[1].Blackbox
	c.Spec.Functions[1].Blackbox, c.Spec.Functions[1].FunctionRef = nil, &v1alpha1.FunctionRef{Name: "shared"}
	inputs.Functions, inputs.Policy.Images = []*v1alpha1.NetworkFunction{shared}, nil
	if got := compile.Chain(c, inputs); got.Program != nil || !strings.Contains(got.Message, `spec.blackbox.image: "registry.example/nfv/ips:7": chains of this cluster may not run this image. Those that they may: none.`) {
		t.Errorf("of a NetworkFunction: %s: %s", got.Reason, got.Message)
	}
}

func is(text string) func(*v1alpha1.ConfigMapKeyRef) ([]byte, error) {
	return func(*v1alpha1.ConfigMapKeyRef) ([]byte, error) { return []byte(text), nil }
}

// Look-ups that stay apart cost each packet more, and only the condition tells a user of the cluster.
func TestTheConditionTellsOfLookupsThatStayApart(t *testing.T) {
	var functions, path strings.Builder
	for i := range 8 {
		fmt.Fprintf(&functions, "  - {name: f%d, firewall: {default: Drop, rulesFrom: {configMapRef: {name: acl, key: %s}, format: CSV}}}\n", i, []string{"hosts", "ports"}[i%2])
		fmt.Fprintf(&path, ", f%d", i)
	}
	text := strings.Replace(chain, `  - name: fw
    firewall:
      rulesFrom: {configMapRef: {name: acl, key: rules}, format: CSV}
  path: [a, fw, b]`, functions.String()+"  path: [a"+path.String()+", b]", 1)
	bundle, found := manifest.Parse("x.yaml", []byte(strings.Replace(text, `{rules: "action\nAccept\n"}`, `{hosts: "action\nAccept\n", ports: "action\nAccept\n"}`, 1)), os.ReadFile)
	if len(found) > 0 {
		t.Fatal(found)
	}
	got := compile.Chain(bundle.Chains[0], compile.Inputs{Text: func(r *v1alpha1.ConfigMapKeyRef) ([]byte, error) {
		return []byte(crossing(r.Key == "hosts", 200)), nil
	}})
	if got.Program == nil {
		t.Fatal(got.Reason, got.Message)
	}
	if says := "traffic classes; f1 is a look-up of its own behind f0 (from a): one for all would have up to 40,"; !strings.Contains(got.Message, says) {
		t.Errorf("the condition says\n%s\nand not %q", got.Message, says)
	}
	if words.Message(got.Message) != got.Message || !strings.HasSuffix(got.Message, "more look-ups of their own") {
		t.Errorf("the condition does not end with how many more look-ups there are:\n%s", got.Message)
	}
}

// crossing is rules on n sources, or on n ports: each of the ones has packets in common with each of the others.
func crossing(sources bool, n int) string {
	text := "action,source,protocol,destinationPorts\n"
	for i := range n {
		if sources {
			text += fmt.Sprintf("Accept,10.0.%d.0/24,,\n", i)
		} else {
			text += fmt.Sprintf("Accept,,tcp,%d\n", 1+i)
		}
	}
	return text
}

// conditions ask for more sets of values than a program can tell apart.
func conditions() string {
	var b strings.Builder
	fmt.Fprintln(&b, "action,protocol,dscp")
	for i := range 256 {
		fmt.Fprintf(&b, "Accept,%d,%d\n", i, i%64)
	}
	return b.String()
}

// flows are rules that have nothing in common.
func flows(n int) string {
	var b strings.Builder
	fmt.Fprintln(&b, "action,source,destination,sourcePorts,destinationPorts,protocol")
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		fmt.Fprintf(&b, "Accept,10.%d.%d.%d,100.%d.%d.%d,%d,%d,tcp\n",
			r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(65536), r.IntN(65536))
	}
	return b.String()
}

// bomb is a small gzip of much text.
func bomb(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(make([]byte, 40<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
