package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"google.golang.org/protobuf/proto"
)

const ispChain = `
apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: isp}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.2/24, gateway: 203.0.113.1}
  functions:
  - name: fw
    firewall: {rulesFrom: {file: acl1_8550, format: ClassBench, actions: OddAcceptEvenDrop}}
  - name: rt
    router:
      routes:
      - {prefix: 204.152.0.0/16, port: inside}
      - {prefix: 0.0.0.0/0, port: outside}
  - name: nat
    napt: {pool: [203.0.113.64/28]}
  path: [inside, fw, rt, nat, outside]
`

type pipes struct {
	io.Reader
	io.WriteCloser
}

func main() {
	cmd := exec.Command("/tmp/lead-build/sinter-harness")
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	cmd.Stderr = os.Stderr
	cmd.Start()
	c := control.NewClient(pipes{out, in})
	ctx := context.Background()
	if _, err := c.Hello(ctx); err != nil {
		panic(err)
	}
	for range 4 {
		t0 := time.Now()
		bundle, f := manifest.Parse("isp.yaml", []byte(ispChain), func(name string) ([]byte, error) {
			return os.ReadFile(filepath.Join("/work/shared/data/classbench", name))
		})
		if f.Err() != nil {
			panic(f.Err())
		}
		t1 := time.Now()
		g, f := graph.Build(bundle.Chains[0], graph.Inputs{Functions: bundle.Functions, Files: bundle.Files})
		if f.Err() != nil {
			panic(f.Err())
		}
		t2 := time.Now()
		r, err := synth.Synthesize(g, synth.Options{})
		if err != nil {
			panic(err)
		}
		t3 := time.Now()
		l, err := c.Load(ctx, r.Program, "00")
		if err != nil {
			panic(err)
		}
		t4 := time.Now()
		fmt.Println("parse", t1.Sub(t0), "graph", t2.Sub(t1), "synth", t3.Sub(t2), "load", t4.Sub(t3), "build", time.Duration(l.BuildNs), "swap", time.Duration(l.SwapNs), "bytes", proto.Size(r.Program), "live", t4.Sub(t1))
	}
}
