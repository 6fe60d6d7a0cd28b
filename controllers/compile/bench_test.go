package compile_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
	"github.com/sinter-nfv/sinter/test/routes"
)

// How long does the operator take for the Internet's routes behind 8,550 rules: for the first time, and when 1,000 of them have changed? Reading the
// texts from a store comes on top.
func BenchmarkStores(b *testing.B) {
	const neighbours = 16
	texts, changed := internet(b, neighbours)
	acl, err := os.ReadFile("../../test/data/classbench/acl1_8550")
	if err != nil {
		b.Fatal(err)
	}
	chain, turn := internetChain(neighbours), 0
	in := compile.Inputs{
		Text: func(*v1alpha1.ConfigMapKeyRef) ([]byte, error) { return acl, nil },
		Stored: func(o *v1alpha1.StoreObject) ([]byte, error) {
			var n int
			if _, err := fmt.Sscanf(o.URL, "http://127.0.0.1:9/%d", &n); err != nil {
				return nil, err
			}
			if n == 5 && turn%2 == 1 {
				return changed, nil
			}
			return texts[n], nil
		},
	}
	once := func(b *testing.B) {
		b.Helper()
		if o := compile.Chain(chain, in); o.Program == nil || o.Program.TableMemoryMiB == 0 {
			b.Fatal(o.Message)
		}
		turn++
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			in.Session = nil
			once(b)
		}
	})
	b.Run("1000 routes changed", func(b *testing.B) {
		in.Session = &compile.Session{}
		once(b)
		once(b)
		for b.Loop() {
			once(b)
		}
	})
}

// internet is the Internet's routes in texts by neighbour, and text 5 with 1,000 routes less.
func internet(b *testing.B, neighbours int) (texts [][]byte, changed []byte) {
	b.Helper()
	f, err := os.Open("../../test/data/routes/table.gz")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	table, err := routes.Read(f)
	if err != nil {
		b.Fatal(err)
	}
	texts = make([][]byte, neighbours)
	for i, p := range table {
		texts[i%neighbours] = fmt.Appendln(texts[i%neighbours], p)
	}
	lines := bytes.SplitAfter(texts[5], []byte("\n"))
	for i := range 1000 {
		lines[i*50] = nil
	}
	return texts, bytes.Join(lines, nil)
}

func internetChain(neighbours int) *v1alpha1.ServiceChain {
	var from strings.Builder
	for i := range neighbours {
		fmt.Fprintf(&from, "{store: {url: http://127.0.0.1:9/%d, sha256: \"%064d\"}, port: outside, via: 10.1.0.%d}, ", i, i, 2+i)
	}
	bundle, _ := manifest.Parse("x.yaml", []byte(`apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: isp, namespace: nfv}
spec:
  interfaces:
  - {name: a, address: 10.0.0.1/24}
  - {name: b, address: 10.1.0.1/24}
  functions:
  - {name: fw, firewall: {rulesFrom: {configMapRef: {name: acl, key: rules}, format: ClassBench, actions: OddAcceptEvenDrop}}}
  - {name: rt, router: {routesFrom: [`+from.String()+`]}}
  path: [a, fw, rt, b]
`), os.ReadFile)
	return bundle.Chains[0]
}
