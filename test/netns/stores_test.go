package netns

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/routes"
)

// peeredChain is an edge with two providers. Their routes are texts of a store.
const peeredChain = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: edge}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 198.51.100.1/24}
  functions:
  - name: rt
    router:
      routesFrom:
      - {port: outside, via: 198.51.100.3, store: {url: "%s", sha256: %s}}
      - {port: outside, via: 198.51.100.4, store: {url: "%s", sha256: %s}}
  path: [inside, rt, outside]
`

// moving is where a server is that both providers lead to: each has one of its own.
const moving = "100.64.7.1"

// peered is the chain with a host inside and the providers "east" and "west" outside, each a router with a server at the same address.
type peered struct {
	host, box *lab.Space
	store     *textStore
	texts     [2][]byte // the Internet's routes, half of them each
}

// textStore is a server of texts by their names.
type textStore struct {
	url   string
	texts map[string][]byte
}

func buildPeered(t *testing.T) *peered {
	t.Helper()
	lab.Require(t)
	p := &peered{host: lab.New(t, "host"), box: lab.New(t, "engine")}
	wire := lab.New(t, "exchange")
	lab.Cable(t, lab.End{Space: p.host, Device: "eth0", Address: "10.0.0.2/24"}, lab.End{Space: p.box, Device: "inside"})
	p.host.Run(t, "ip", "route", "add", "default", "via", "10.0.0.1")
	wire.Run(t, "ip", "link", "add", "br0", "type", "bridge")
	wire.Run(t, "ip", "link", "set", "br0", "up")
	plug := func(s *lab.Space, device, address, port string) {
		lab.Cable(t, lab.End{Space: s, Device: device, Address: address}, lab.End{Space: wire, Device: port})
		wire.Run(t, "ip", "link", "set", port, "master", "br0")
	}
	plug(p.box, "outside", "", "edge")
	for i, name := range []string{"east", "west"} {
		s := lab.New(t, name)
		plug(s, "eth0", fmt.Sprintf("198.51.100.%d/24", 3+i), name)
		s.Run(t, "ip", "link", "set", "lo", "up")
		s.Run(t, "ip", "address", "add", moving+"/32", "dev", "lo")
		s.Run(t, "ip", "route", "add", "10.0.0.0/24", "via", "198.51.100.1")
		serveName(t, s, moving, name)
	}
	f, err := os.Open("../data/routes/table.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := routes.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range table {
		p.texts[i%2] = fmt.Appendln(p.texts[i%2], r)
	}
	p.store = serveTexts(t, p.box)
	return p
}

// serveTexts serves texts to those in a space.
func serveTexts(t *testing.T, s *lab.Space) *textStore {
	t.Helper()
	s.Run(t, "ip", "link", "set", "lo", "up")
	var listener net.Listener
	var err error
	s.Do(func() { listener, err = net.Listen("tcp4", "127.0.0.1:0") })
	if err != nil {
		t.Fatal(err)
	}
	store := &textStore{url: "http://" + listener.Addr().String() + "/", texts: map[string][]byte{}}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := store.texts[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(text)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return store
}

// chain is the chain with texts of two names.
func (p *peered) chain(names ...string) string {
	var args []any
	for _, name := range names {
		args = append(args, p.store.url+name, fmt.Sprintf("%x", sha256.Sum256(p.store.texts[name])))
	}
	return fmt.Sprintf(peeredChain, args...)
}

// provider is the one whose server replies to a datagram.
func (p *peered) provider() (name string, err error) {
	var c net.Conn
	p.host.Do(func() { c, err = net.DialTimeout("udp4", moving+":53", lab.Patience) })
	if err != nil {
		return "", err
	}
	defer c.Close()
	return asks(c)
}

// TestRoutesOfAStoreMoveWithoutLoss has the Internet's routes in a store, and the next version of two texts move one prefix from a provider to the
// other. Then a version that the store does not have changes nothing.
func TestRoutesOfAStoreMoveWithoutLoss(t *testing.T) {
	p := buildPeered(t)
	with := func(text []byte) []byte { return append(bytes.Clone(text), moving+"/32\n"...) }
	p.store.texts["east-1"], p.store.texts["west-1"] = with(p.texts[0]), p.texts[1]
	p.store.texts["east-2"], p.store.texts["west-2"] = p.texts[0], with(p.texts[1])
	dir := t.TempDir()
	file := write(t, dir, "chain.yaml", p.chain("east-1", "west-1"))
	engine := lab.StartSinterctl(t, p.box, file, []string{"inside=inside", "outside=outside"}, "--store", p.store.url)
	if name, err := p.provider(); err != nil || name != "east" {
		t.Fatalf("%q replies (%v), want east", name, err)
	}
	before := engine.Running(t)
	began := time.Now()
	write(t, dir, "chain.yaml", p.chain("east-2", "west-2"))
	asked := 0
	lab.Until(t, lab.Patience, func() error {
		name, err := p.provider()
		if err != nil {
			t.Fatalf("while routes change: %v", err)
		}
		if asked++; name != "west" {
			return fmt.Errorf("%s replies, want west", name)
		}
		return nil
	})
	t.Logf("west replies after %s; %d questions until then, each answered", time.Since(began).Round(time.Millisecond), asked)
	if engine.Running(t) == before {
		t.Error("the engine runs the same program")
	}
	mark := engine.Process.Mark()
	next := p.chain("east-3", "west-2")
	write(t, dir, "chain.yaml", next)
	engine.Process.Said(t, mark, p.store.url+`east-3": the store answers 404 Not Found`)
	if name, err := p.provider(); err != nil || name != "west" {
		t.Errorf("without the next text %q replies (%v), want west", name, err)
	}
}
