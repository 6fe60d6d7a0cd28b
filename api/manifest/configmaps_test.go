package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

const filtered = `apiVersion: nfv.sinter.dev/v1alpha1
kind: NetworkFunction
metadata: {name: filter}
spec:
  firewall:
    rulesFrom: {configMapRef: {name: acl, key: rules.csv}, format: CSV}
`

const acl = `apiVersion: v1
kind: ConfigMap
metadata: {name: acl}
data:
  rules.csv: |
    action,protocol
    Accept,tcp
`

const guarded = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: guarded}
spec:
  interfaces:
  - {name: a, address: 10.0.0.1/24}
  - {name: b, address: 10.1.0.1/24}
  functions:
  - {name: fw, functionRef: {name: filter}}
  path: [a, fw, b]
`

func TestRulesOfAConfigMapAreFoundAmongTheFilesAndInTheFolderOfTheChain(t *testing.T) {
	dir := folder(t, map[string]string{"chain.yaml": guarded, "filter.yaml": filtered, "acl.yaml": acl})
	b, found := manifest.Load(filepath.Join(dir, "chain.yaml"))
	if len(found) > 0 {
		t.Fatalf("findings: %v", found)
	}
	if got := b.Files.Rules[rules.Source{File: "configmap/acl/rules.csv", Format: v1alpha1.FormatCSV}]; len(got) != 1 {
		t.Errorf("rules are %v, wanted the one of the ConfigMap", got)
	}
	if got := strings.Join(b.Sources, " "); !strings.Contains(got, "acl.yaml") {
		t.Errorf("sources are %s, without the ConfigMap's file", got)
	}
}

func TestWhatIsWrongWithAConfigMapIsToldWhereItIsReferredTo(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"no such ConfigMap":   {filtered, `x.yaml:6: spec.firewall.rulesFrom.configMapRef: "acl/rules.csv": no ConfigMap "acl" in the same file or folder`},
		"no such key":         {filtered + "---\n" + strings.Replace(acl, "rules.csv", "rule.csv", 1), `x.yaml:6: spec.firewall.rulesFrom.configMapRef: "acl/rules.csv": ConfigMap "acl" has no key "rules.csv"; did you mean "rule.csv"?`},
		"a bad rule":          {filtered + "---\n" + strings.Replace(acl, "Accept", "Pass", 1), `configmap/acl/rules.csv:2: action: "Pass": not an action; write Accept, Drop or Reject`},
		"both file and key":   {strings.Replace(filtered, "format", "file: a.csv, format", 1), `x.yaml:6: spec.firewall.rulesFrom: set exactly one of file, configMapRef`},
		"one ConfigMap twice": {acl + "---\n" + acl, `x.yaml:9: ConfigMap: "acl" is there twice, also in namespace ""; give one of them at a time`},
	} {
		t.Run(name, func(t *testing.T) {
			_, found := manifest.Parse("x.yaml", []byte(test.text), os.ReadFile)
			if got := strings.TrimSpace(found.String()); got != test.want {
				t.Errorf("findings are\n%s\nwanted\n%s", got, test.want)
			}
		})
	}
}
