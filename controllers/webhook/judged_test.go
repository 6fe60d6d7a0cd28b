package webhook

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
	"github.com/sinter-nfv/sinter/controllers/queue"
	"github.com/sinter-nfv/sinter/controllers/source"
)

const guarded = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: guarded}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.2/24}
  path: [inside, fw, outside]
  functions:
  - name: fw
    firewall:
      rulesFrom: {configMapRef: {name: acl, key: rules.csv}, format: CSV}
`

func TestWhatMayComeNextIsAWarningAndWhatIsThereAndWrongIsRefused(t *testing.T) {
	bundle, found := manifest.Parse("chain.yaml", []byte(guarded+acl), nil)
	if len(bundle.Chains) != 1 {
		t.Fatal(found)
	}
	for name, test := range map[string]struct {
		text []byte
		err  error
		want string // refused for it; empty: a warning
	}{
		"a ConfigMap that is not there":            {err: finding.Missing("there is no such ConfigMap in the chain's namespace")},
		"a text that says it is packed and is not": {text: []byte("\x1f\x8b no more"), want: "spec.functions[0].firewall.rulesFrom.configMapRef"},
		"a text with a rule that cannot be read":   {text: []byte("not,a,rule\n"), want: "configmap/acl/rules.csv"},
	} {
		outcome := compile.Chain(bundle.Chains[0], compile.Inputs{Text: func(*v1alpha1.ConfigMapKeyRef) ([]byte, error) { return test.text, test.err }})
		warnings, bad := judged(outcome.Findings)
		if test.want == "" && (len(bad) > 0 || len(warnings) == 0) {
			t.Errorf("%s: refused for %q, warnings %q; want a warning", name, bad, warnings)
		}
		if test.want != "" && !strings.Contains(bad.String(), test.want) {
			t.Errorf("%s: refused for %q, want it to be for %q", name, bad, test.want)
		}
	}
}

const acl = `---
apiVersion: v1
kind: ConfigMap
metadata: {name: acl}
data: {rules.csv: ""}
`

func TestAWarningNamesTenChainsThatWereNotCompiledInTime(t *testing.T) {
	if got := unjudged(nil); got != nil {
		t.Errorf("without such chains it says %q", got)
	}
	chains := strings.Fields("a b c d e f g h i j k l")
	const want = "there was no time to compile a, b, c, d, e, f, g, h, i, j and 2 more here; the condition Synthesized will have the result"
	if got := unjudged(chains); len(got) != 1 || got[0] != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

// Another namespace's chains are compiled: a chain passes with a warning, and its condition has the result.
func TestTheWebhookWaitsForATurnNoLongerThanItMay(t *testing.T) {
	bundle, found := manifest.Parse("chain.yaml", []byte(guarded+acl), nil)
	if len(bundle.Chains) != 1 {
		t.Fatal(found)
	}
	synctest.Test(t, func(t *testing.T) {
		turns := queue.New(1)
		if _, err := turns.Take(t.Context(), "other", 1); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		chains := Chains{Reader: source.Reader{Cached: empty{}, Queue: turns}}
		warnings, err := chains.ValidateCreate(t.Context(), bundle.Chains[0])
		if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "no time to compile guarded") {
			t.Errorf("the answer is %q, %v, want a warning", warnings, err)
		}
		if took := time.Since(began); took != patience {
			t.Errorf("it takes %s, want %s", took, patience)
		}
	})
}

// empty is a cluster without objects.
type empty struct{ client.Reader }

func (empty) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (empty) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, "x")
}

// Whoever reaches the port can ask for a chain that names a ConfigMap of any namespace.
func TestTheWebhookTellsNothingThatAConfigMapHas(t *testing.T) {
	for format, function := range map[string]string{
		"CSV":        "firewall: {rulesFrom: {configMapRef: {name: app, key: config}, format: CSV}}",
		"ClassBench": "firewall: {rulesFrom: {configMapRef: {name: app, key: config}, format: ClassBench, actions: OddAcceptEvenDrop}}",
		"inspect":    "inspect: {rulesFrom: {configMapRef: {name: app, key: config}}}",
		"routes":     "router: {routesFrom: [{configMapRef: {name: app, key: config}, port: outside}]}",
	} {
		for _, text := range []string{
			"hunter2\n", "password=hunter2\n", "# settings\n\npassword: \"hunter2\"\n", "action,hunter2\nAccept,1\n", "action,source\nhunter2,hunter2\n",
			"@hunter2 0.0.0.0/0 0 : 1 0 : 1 0x00/0x00\n", "drop hunter2 any any -> any any (hunter2;)\n", "drop udp any hunter2 -> any any (content:\"hunter2\"; hunter2:1;)\n",
		} {
			bundle, found := manifest.Parse("chain.yaml", []byte(strings.Replace(guarded+acl, "firewall:\n      rulesFrom: {configMapRef: {name: acl, key: rules.csv}, format: CSV}", function, 1)), nil)
			if len(bundle.Chains) != 1 {
				t.Fatal(found)
			}
			chains := Chains{Reader: source.Reader{Cached: empty{}, Live: holding{text: text}}}
			warnings, err := chains.ValidateCreate(t.Context(), bundle.Chains[0])
			if says := fmt.Sprint(warnings, err); strings.Contains(says, "hunter2") || !strings.Contains(says, "configmap/app/config:") {
				t.Errorf("%s, %q: the answer is %s", format, text, says)
			}
		}
	}
}

// holding is a cluster in which each ConfigMap has a text.
type holding struct {
	client.Reader
	text string
}

func (h holding) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if m, ok := o.(*corev1.ConfigMap); ok {
		m.Data = map[string]string{"config": h.text}
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{}, "x")
}
