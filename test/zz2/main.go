package main

import (
	"encoding/binary"
	"os"
	"path/filepath"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"google.golang.org/protobuf/proto"
)

func main() {
	text, _ := os.ReadFile("/tmp/isp.yaml")
	bundle, f := manifest.Parse("isp.yaml", text, func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join("/root/lead/test/data/classbench", name))
	})
	if f.Err() != nil {
		panic(f.Err())
	}
	g, _ := graph.Build(bundle.Chains[0], graph.Inputs{Functions: bundle.Functions, Files: bundle.Files})
	r, err := synth.Synthesize(g, synth.Options{})
	if err != nil {
		panic(err)
	}
	put := func(q *programpb.Request) {
		b, _ := proto.Marshal(q)
		os.Stdout.Write(binary.BigEndian.AppendUint32(nil, uint32(len(b))))
		os.Stdout.Write(b)
	}
	put(&programpb.Request{Id: 1, Body: &programpb.Request_Hello{Hello: &programpb.Hello{Schema: 1}}})
	for i := range 3 {
		put(&programpb.Request{Id: uint64(2 + i), Body: &programpb.Request_Load{Load: &programpb.Load{Program: r.Program, Hash: []byte{1}}}})
	}
}
