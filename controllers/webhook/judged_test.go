package webhook

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
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
