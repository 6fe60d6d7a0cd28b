package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

const chain = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata:
  name: edge
spec:
  interfaces:
  - name: inside
    address: 10.0.0.1/24
  - name: outside
    address: 203.0.113.1/24
  functions:
  - name: fw
    firewall:
      rulesFrom: {file: rules/acl.csv, format: CSV}
  - name: nat
    napt:
      pool: [203.0.113.9]
      timeouts: {udp: 30s}
  - name: mon
    functionRef: {name: counters}
  path: [inside, fw, mon, nat, outside]
`

const counters = `apiVersion: v1
kind: Secret
metadata: {name: other}
---
apiVersion: nfv.sinter.dev/v1alpha1
kind: NetworkFunction
metadata: {name: counters}
spec:
  monitor:
    classes:
    - {name: web, destinationPorts: [80, "443"]}
---
`

// folder writes files into a new folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func edge(t *testing.T) string {
	t.Helper()
	return folder(t, map[string]string{
		"edge.yaml": chain, "counters.yml": counters, "rules/acl.csv": "action,protocol\nAccept,tcp\nDrop,udp\n", "broken.yaml": "a: [",
	})
}

func TestAFileIsReadWithDefaultsRuleFilesAndFunctionsOfItsFolder(t *testing.T) {
	dir := edge(t)
	file := filepath.Join(dir, "edge.yaml")
	b, found := manifest.Load(file)
	if len(found) > 0 {
		t.Fatalf("findings:\n%s", found)
	}
	c, err := b.Chain("")
	if err != nil {
		t.Fatal(err)
	}
	if c.Spec.Interfaces[0].MTU != 1500 {
		t.Errorf("the MTU is %d, wanted the default 1500", c.Spec.Interfaces[0].MTU)
	}
	if got := c.Spec.Functions[0].Firewall.Default; got != v1alpha1.ActionDrop {
		t.Errorf("the firewall's default is %q, wanted Drop", got)
	}
	nat := c.Spec.Functions[1].NAPT
	if nat.Ports.Min != 1024 || nat.Ports.Max != 65535 || nat.Timeouts.TCP != "2h4m" || nat.Timeouts.UDP != "30s" || nat.MaxSessions != 1_000_000 {
		t.Errorf("the NAPT is %+v, wanted the defaults and the UDP timeout 30s", nat)
	}
	if len(b.Functions) != 1 || b.Functions[0].Name != "counters" {
		t.Errorf("functions are %v, wanted the one that the chain refers to", b.Functions)
	}
	acl := filepath.Join(dir, "rules/acl.csv")
	if got := len(b.Files.Rules[rules.Source{File: acl, Format: v1alpha1.FormatCSV}]); got != 2 {
		t.Errorf("%d rules of %s were read, wanted 2", got, acl)
	}
	want := []string{file, filepath.Join(dir, "counters.yml"), acl}
	if strings.Join(b.Sources, " ") != strings.Join(want, " ") {
		t.Errorf("sources are %v, wanted %v", b.Sources, want)
	}
}

func TestAFieldIsLocatedAtItsLineOrThatOfTheNearestAroundIt(t *testing.T) {
	b, found := manifest.Load(filepath.Join(edge(t), "edge.yaml"))
	if len(found) > 0 {
		t.Fatal(found)
	}
	object := finding.Object{Kind: v1alpha1.KindServiceChain, Name: "edge"}
	for field, want := range map[string]int{
		"spec.functions[1].napt.pool[0]":      17,
		"spec.functions[1].napt.timeouts.udp": 18,
		"spec.functions[1].napt.timeouts.tcp": 18,
		"spec.functions[1].napt.maxSessions":  16,
		"spec.functions[1].name":              15,
		"spec.path[2]":                        21,
		"spec.links":                          5,
		"":                                    1,
	} {
		got := b.Locate(finding.List{{Object: object, Field: field}})[0]
		if got.Line != want || filepath.Base(got.File) != "edge.yaml" {
			t.Errorf("%q is at %s:%d, wanted edge.yaml:%d", field, got.File, got.Line, want)
		}
	}
}

func TestAFolderIsReadFileByFile(t *testing.T) {
	dir := edge(t)
	b, found := manifest.Load(dir)
	if len(b.Chains) != 1 || len(b.Functions) != 1 {
		t.Errorf("%d chains and %d functions were read, wanted one each", len(b.Chains), len(b.Functions))
	}
	want := "broken.yaml:1: not YAML: a value is missing, or a bracket that is open here is not closed\n" +
		"counters.yml:1: warning: apiVersion: \"v1\": is not of nfv.sinter.dev; the document is ignored\n"
	if got := strings.ReplaceAll(found.String(), dir+"/", ""); got != want {
		t.Errorf("findings are\n%swanted\n%s", got, want)
	}
}

func TestDocumentsThatCannotBeTakenAreToldByFileAndLine(t *testing.T) {
	const head = "apiVersion: nfv.sinter.dev/v1alpha1\nkind: NetworkFunction\n"
	tests := map[string]struct{ text, want string }{
		"no apiVersion":          {"kind: ServiceChain\n", `x.yaml:1: apiVersion: is missing; set it to nfv.sinter.dev/v1alpha1`},
		"another version":        {"apiVersion: nfv.sinter.dev/v2\nkind: ServiceChain\n", `x.yaml:1: apiVersion: "nfv.sinter.dev/v2": unknown version; this build knows nfv.sinter.dev/v1alpha1`},
		"an unknown kind":        {"apiVersion: nfv.sinter.dev/v1alpha1\nkind: ServicChain\n", `x.yaml:1: kind: "ServicChain": unknown kind; did you mean "ServiceChain"?`},
		"a hexadecimal port":     {head + "metadata: {name: a}\nspec: {monitor: {classes: [{name: x, destinationPorts: [0x50]}]}}\n", `x.yaml:4: spec.monitor.classes[0].destinationPorts[0]: "0x50": is 80 to YAML; write 80 if you mean that`},
		"an octal port":          {head + "metadata: {name: a}\nspec: {monitor: {classes: [{name: x, destinationPorts: [0110]}]}}\n", `x.yaml:4: spec.monitor.classes[0].destinationPorts[0]: "0110": is 72 to YAML; write 72 if you mean that`},
		"metadata twice":         {head + "metadata: {name: a}\nmetadata: {name: b}\nspec: {monitor: {}}\n", `x.yaml:4: metadata: the field is there twice; leave one out`},
		"a merge key":            {head + "metadata: &m {name: a}\nspec: {monitor: {}, <<: *m}\n", `x.yaml:4: spec.<<: merge keys of YAML are not read here; write the fields out`},
		"a short field name":     {head + "metadata: {name: a}\nspec: {monitor: {classes: [{name: x, destPorts: [80]}]}}\n", `x.yaml:4: spec.monitor.classes[0].destPorts: unknown field; did you mean "destinationPorts"?`},
		"a port alone":           {head + "metadata: {name: a}\nspec: {monitor: {classes: [{name: x, destinationPorts: 80}]}}\n", `x.yaml:4: spec.monitor.classes[0].destinationPorts: "80": must be a list, not a number; write [80]`},
		"a name of many letters": {head + "metadata: {name: a}\nspec: {monitor: {classes: [{name: " + strings.Repeat("x", 1<<16) + "}]}}\n", `x.yaml:4: spec.monitor.classes[0].name: "` + strings.Repeat("x", 100) + `"… (65536 bytes): must have at most 63 characters, has 65536`},
		"two default routes": {
			head + "metadata: {name: a}\nspec: {router: {routes: [{prefix: 0.0.0.0/0, port: a, via: 10.0.0.1}, {prefix: 0.0.0.0/0, port: a, via: 10.0.0.2}]}}\n",
			`x.yaml:4: spec.router.routes[1].prefix: "0.0.0.0/0": is there twice, first in spec.router.routes[0]; a prefix has one route and one next hop: leave one out, or write bySource in it for the packets of some sources`,
		},
		"a List without items":    {"apiVersion: v1\nkind: List\n", `x.yaml:1: items: is missing; it has the objects of a List`},
		"a List of text":          {"apiVersion: v1\nkind: List\nitems: a\n", `x.yaml:3: items: must be a list of objects, not text`},
		"a List in itself":        {"&a\napiVersion: v1\nkind: List\nitems: [*a]\n", `x.yaml:4: must be a mapping with apiVersion, kind, metadata and spec, not an alias`},
		"a list":                  {"- a\n", `x.yaml:1: must be a mapping with apiVersion, kind, metadata and spec, not a list`},
		"no name":                 {head + "metadata: {}\nspec: {monitor: {}}\n", `x.yaml:3: metadata.name: is missing, and required`},
		"no spec":                 {head + "metadata: {name: a}\n", `x.yaml:1: spec: is missing, and required`},
		"an empty spec":           {head + "metadata: {name: a}\nspec:\n", `x.yaml:4: spec: is empty, and required`},
		"a tab":                   {head + "metadata: {name: a}\n\tspec: {}\n", `x.yaml:4: the line begins with a tab, which YAML does not take for indentation; use spaces`},
		"one object twice":        {head + "metadata: {name: a}\nspec: {monitor: {}}\n---\n" + head + "metadata: {name: a}\nspec: {monitor: {}}\n", `x.yaml:6: metadata.name: "a": NetworkFunction a is there twice, first at x.yaml:1; names must differ`},
		"an anchor within itself": {head + "metadata: {name: a}\nspec: &a\n  monitor:\n    classes: [{name: x}]\n  elements: *a\n", "x.yaml:5: spec.elements.monitor: unknown field; known: elements, links, ports\nx.yaml:7: spec.elements.elements: must be a list, not a mapping\nx.yaml:7: spec.elements.links: is missing, and required"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, found := manifest.Parse("x.yaml", []byte(test.text), os.ReadFile)
			if got := strings.TrimSpace(found.String()); got != test.want {
				t.Errorf("findings are\n%s\nwanted\n%s", got, test.want)
			}
		})
	}
}

func TestWhatIsNoYAMLIsToldByItsOwnLine(t *testing.T) {
	const head = "apiVersion: nfv.sinter.dev/v1alpha1\nkind: NetworkFunction\nmetadata:\n  name: fw\nspec:\n  firewall:\n    rules:\n" // 7 lines
	const rule = "    - name: web\n      action: Accept\n"
	for name, test := range map[string]struct {
		text string
		line int
		want string
	}{
		"an entry too far to the left":   {head + rule + rule + "   - name: dns\n", 12, "the indentation fits no line above it"},
		"an entry without its dash":      {head + rule + rule + "     name: dns\n", 12, "the indentation fits no line above it"},
		"a field too far to the left":    {head + rule + "    - name: dns\n     action: Accept\n" + rule, 11, "the indentation fits no line above it"},
		"a field too far to the right":   {head + rule + "    - name: dns\n        action: Accept\n" + rule, 11, "a field cannot begin here"},
		"a field without its colon":      {head + rule + "    - name: dns\n      action Accept\n      log: true\n", 11, "a field wants a colon"},
		"an open list":                   {head + rule + "    - name: dns\n      destinationPorts: [53, 54\n      action: Accept\n" + rule, 11, `lacks a comma, or its "]"`},
		"an open mapping":                {head + "    - {name: dns, action: Accept\n    - {name: web, action: Accept}\n", 8, `lacks a comma, or its "}"`},
		"an open quote":                  {head + rule + "    - name: \"dns\n      action: Accept\n", 10, "a text in quotes has no end"},
		"an alias of nothing":            {head + rule + "    - *web\n" + rule, 10, "*web stands for what &web names, which is not there"},
		"text that begins with a letter": {head + "    - name: @web\n", 8, "wants quotes"},
		"a backslash":                    {head + "    - name: \"a\\d\"\n", 8, "a backslash begins an escape"},
		"a second document":              {head + rule + "---\n" + head + rule + "   - name: dns\n", 20, "the indentation fits no line above it"},
	} {
		t.Run(name, func(t *testing.T) {
			_, found := manifest.Parse("x.yaml", []byte(test.text), os.ReadFile)
			var errs finding.List
			for _, f := range found {
				if f.Code == finding.Unreadable {
					errs = append(errs, f)
				}
			}
			if len(errs) != 1 || errs[0].Line != test.line || !strings.Contains(errs[0].Message, test.want) {
				t.Errorf("findings are\n%swanted one in line %d with %q", found, test.line, test.want)
			}
		})
	}
}

// indented is a document as an item of a list.
func indented(document string) string {
	return "- " + strings.ReplaceAll(strings.TrimSpace(document), "\n", "\n  ") + "\n"
}

func TestAListIsTakenObjectByObject(t *testing.T) {
	monitor := "apiVersion: nfv.sinter.dev/v1alpha1\nkind: NetworkFunction\nmetadata: {name: counters}\nspec: {monitor: {}}"
	set := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rules}\ndata: {acl.csv: 'action'}"
	broken := "apiVersion: nfv.sinter.dev/v1alpha1\nkind: NetworkFunction\nmetadata: {name: broken}\nspec: {monitr: {}}"
	for name, head := range map[string]string{
		"any objects":    "apiVersion: v1\nkind: List\n",
		"of one kind":    "apiVersion: nfv.sinter.dev/v1alpha1\nkind: ServiceChainList\n",
		"of another one": "apiVersion: nfv.sinter.dev/v1alpha1\nkind: NetworkFunctionList\n",
	} {
		t.Run(name, func(t *testing.T) {
			items := head + "metadata: {resourceVersion: \"\"}\nitems:\n" + indented(chain) + indented(monitor) + indented(set) + indented(broken)
			dir := folder(t, map[string]string{"all.yaml": items, "rules/acl.csv": "action\nDrop\n"})
			b, found := manifest.Load(filepath.Join(dir, "all.yaml"))
			if len(b.Chains) != 1 || len(b.Functions) != 1 || b.Functions[0].Name != "counters" {
				t.Errorf("%d chains and functions %v; wanted one chain, and counters", len(b.Chains), b.Functions)
			}
			want := "all.yaml:37: spec.monitr: unknown field; did you mean \"monitor\"?\n"
			if got := strings.ReplaceAll(found.String(), dir+"/", ""); got != want {
				t.Errorf("findings are\n%swanted\n%s", got, want)
			}
			line := b.Locate(finding.List{{Object: finding.Object{Kind: v1alpha1.KindServiceChain, Name: "edge"}, Field: "spec.path"}})[0].Line
			if line != 25 {
				t.Errorf("the chain's path is at line %d, wanted 25", line)
			}
		})
	}
}

func TestAFunctionIsFoundInAListOfTheFolder(t *testing.T) {
	monitor := "apiVersion: nfv.sinter.dev/v1alpha1\nkind: NetworkFunction\nmetadata: {name: counters}\nspec: {monitor: {}}"
	other := strings.Replace(monitor, "counters", "other", 1)
	b, found := manifest.Load(filepath.Join(folder(t, map[string]string{
		"edge.yaml": chain, "rules/acl.csv": "action\nDrop\n",
		"functions.yaml": "apiVersion: v1\nkind: List\nitems:\n" + indented(other) + indented(monitor), "bad.yaml": "apiVersion: v1\nkind: List\n",
	}), "edge.yaml"))
	if len(found) > 0 || len(b.Functions) != 1 || b.Functions[0].Name != "counters" {
		t.Errorf("functions are %v, findings\n%swanted counters, and none", b.Functions, found)
	}
}

func TestAFileThatIsNotThereIsTold(t *testing.T) {
	_, found := manifest.Load("nowhere.yaml")
	if got := strings.TrimSpace(found.String()); got != "nowhere.yaml: file not found" {
		t.Errorf("findings are %q", got)
	}
}

func TestAChainIsFoundByItsName(t *testing.T) {
	second := strings.Replace(chain, "name: edge", "name: core", 1)
	b, _ := manifest.Load(folder(t, map[string]string{"a.yaml": chain, "b.yaml": second, "rules/acl.csv": "action\nDrop\n"}))
	if c, err := b.Chain("core"); err != nil || c.Name != "core" {
		t.Errorf("core is %v, %v", c, err)
	}
	for name, want := range map[string]string{
		"":     "the files hold several chains; name one of edge, core",
		"edgy": `chain "edgy" is not in the files given; did you mean "edge"?`,
	} {
		if _, err := b.Chain(name); err == nil || err.Error() != want {
			t.Errorf("chain %q: error is %v, wanted %s", name, err, want)
		}
	}
}

func TestFilesWithoutAChainAreNamed(t *testing.T) {
	for files, want := range map[string]string{
		"a.yaml":                             "no ServiceChain in a.yaml",
		"a.yaml b.yaml c.yaml":               "no ServiceChain in a.yaml, b.yaml, c.yaml",
		"a.yaml b.yaml c.yaml d.yaml e.yaml": "no ServiceChain in a.yaml, b.yaml, c.yaml and 2 more files",
		"":                                   "no ServiceChain in the files given",
	} {
		b := &manifest.Bundle{Sources: strings.Fields(files)}
		if _, err := b.Chain(""); err == nil || err.Error() != want {
			t.Errorf("%q: error is %v, wanted %s", files, err, want)
		}
	}
}
