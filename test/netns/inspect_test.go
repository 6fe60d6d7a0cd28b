package netns

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// inspectedChain is a chain that looks into what passes between a host and a peer.
const inspectedChain = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: inspected}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 198.51.100.1/24}
  functions:
  - name: ids
    inspect:
      from: Inside
      destinationPorts: [53]
      dns: ["*.malware.example", tracker.example]
      rulesFrom: {configMapRef: {name: ids, key: rules}}
  - name: rt
    router:
      routes:
      - {prefix: 10.0.0.0/24, port: inside}
      - {prefix: 198.51.100.0/24, port: outside}
  path: [inside, ids, rt, outside]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ids}
data:
  rules: |
    drop tcp-pkt any any -> any 80 (msg:"exploit"; content:"GET /evil"; startswith; content:"Host: victim"; nocase; sid:1;)
    alert tcp-pkt any any -> any 80 (msg:"agent"; pcre:"/User-Agent: [a-z]+-bot/i"; sid:2;)
    drop tcp any any -> any 8080 (msg:"token"; content:"secret token"; sid:3;)
`

func inspectedSite(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.engine = lab.StartEngine(t, s.box, officeBinds)
	s.engine.Load(t, lab.Compile(t, lab.ParseText(t, inspectedChain)))
	s.peer.Run(t, "ip", "route", "add", "default", "via", "198.51.100.1")
	return s
}

// ruleMatched is how many packets a rule matched.
func ruleMatched(t *testing.T, e *lab.Engine, rule string) uint64 {
	t.Helper()
	for _, table := range e.Counters(t).GetTables() {
		for _, r := range table.GetInspector().GetRules() {
			if r.GetName() == rule {
				return r.GetPackets()
			}
		}
	}
	t.Fatalf("the engine has no rule %q", rule)
	return 0
}

// answerDNS has each question for an address answered with 192.0.2.80 (RFC 1035 section 4.1).
func answerDNS(t *testing.T, s *lab.Space, at string) {
	t.Helper()
	p := lab.In(t, s, func() (net.PacketConn, error) { return net.ListenPacket("udp4", at) })
	t.Cleanup(func() { _ = p.Close() })
	go func() {
		b := make([]byte, 1500)
		for {
			n, from, err := p.ReadFrom(b)
			if err != nil {
				return
			}
			end := bytes.IndexByte(b[12:n], 0)
			if end < 0 {
				continue
			}
			q := b[:12+end+5] // header, name, type, class
			q[2], q[3] = q[2]|0x80, 0x80
			copy(q[4:], []byte{0, 1, 0, 0, 0, 0, 0, 0})
			if q[len(q)-3] == 1 { // type A
				q[7] = 1
				q = append(q[:len(q):len(q)], 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 80)
			}
			_, _ = p.WriteTo(q, from)
		}
	}()
}

// shortly is how long a test waits for what must not come.
const shortly = time.Second

// names asks a DNS server for the address of a name, with Go's resolver.
func names(t *testing.T, from *lab.Space, server string) (ask func(name string, patience time.Duration) (string, error)) {
	t.Helper()
	// A resolver goes on asking when nobody waits for it any more, be the test over or not.
	var mu sync.Mutex
	over := false
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
	})
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (c net.Conn, err error) {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return nil, net.ErrClosed
		}
		from.Do(func() { c, err = new(net.Dialer).DialContext(ctx, "udp4", server) })
		return c, err
	}}
	return func(name string, patience time.Duration) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		addresses, err := resolver.LookupNetIP(ctx, "ip4", name)
		if err != nil {
			return "", err
		}
		return addresses[0].String(), nil
	}
}

// pages starts an HTTP server, which a client asks for a path of a host.
func pages(t *testing.T, to *lab.Space, at string, from *lab.Space) (get func(host, path, agent string, patience time.Duration) (string, error)) {
	t.Helper()
	l := lab.In(t, to, func() (net.Listener, error) { return net.Listen("tcp4", at) })
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "served "+r.URL.Path) })}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (c net.Conn, err error) {
		from.Do(func() { c, err = new(net.Dialer).DialContext(ctx, "tcp4", at) })
		return c, err
	}}}
	return func(host, path, agent string, patience time.Duration) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+path, nil)
		if err != nil {
			return "", err
		}
		r.Header.Set("User-Agent", agent)
		reply, err := client.Do(r)
		if err != nil {
			return "", err
		}
		defer reply.Body.Close()
		text, err := io.ReadAll(reply.Body)
		return string(text), err
	}
}

// TestQueriesForNamesThatAreRefusedDoNotLeave asks a DNS server through an inspection.
func TestQueriesForNamesThatAreRefusedDoNotLeave(t *testing.T) {
	t.Parallel() // waits more than it works
	s := inspectedSite(t)
	answerDNS(t, s.peer, officePeer+":53")
	ask := names(t, s.host, officePeer+":53")
	lab.Until(t, lab.Patience, func() error { _, err := ask("good.example.", shortly); return err })
	for _, name := range []string{"www.good.example.", "malware.example.", "www.tracker.example.", "notmalware.example."} {
		if a, err := ask(name, lab.Patience); err != nil || a != "192.0.2.80" {
			t.Errorf("%s is %q (%v), want 192.0.2.80", name, a, err)
		}
	}
	for i, name := range []string{"www.malware.example.", "A.B.MalWare.Example.", "tracker.example."} {
		if a, err := ask(name, shortly); err == nil {
			t.Errorf("%s is %s, want no answer", name, a)
		}
		if n := s.engine.Dropped(t, "ids/matched"); n < uint64(i+1) {
			t.Errorf("after %s %d packets are dropped as ids/matched, want one for each name at least", name, n)
		}
	}
	if n := ruleMatched(t, s.engine, "dns[0]"); n < 2 {
		t.Errorf("dns[0] matched %d packets, want those for two names at least", n)
	}
}

// TestRequestsThatMatchDoNotArrive asks an HTTP server through an inspection.
func TestRequestsThatMatchDoNotArrive(t *testing.T) {
	s := inspectedSite(t)
	get := pages(t, s.peer, officePeer+":80", s.host)
	lab.Until(t, lab.Patience, func() error { _, err := get("first", "/", "test", shortly); return err })
	for _, ask := range [][3]string{{"victim", "/good", "test"}, {"other", "/evil", "test"}, {"other", "/good", "Some-Bot"}, {"other", "/?GET+/evil", "test"}} {
		path, _, _ := strings.Cut(ask[1], "?")
		if text, err := get(ask[0], ask[1], ask[2], lab.Patience); err != nil || text != "served "+path {
			t.Errorf("of %v came %q (%v)", ask, text, err)
		}
	}
	if n := ruleMatched(t, s.engine, "sid 2: agent"); n < 1 {
		t.Error("sid 2 matched no packet, want one request, and those that were repeated")
	}
	if n := s.engine.Dropped(t, "ids/matched"); n != 0 {
		t.Errorf("%d packets are dropped, want none yet", n)
	}
	if text, err := get("VICTIM", "/evil", "test", shortly); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("of the request that is refused came %q (%v), want no answer", text, err)
	}
	if n := s.engine.Dropped(t, "ids/matched"); n < 2 {
		t.Errorf("%d packets are dropped, want the request and its repetitions", n)
	}
}

// TestTheInspectSampleGuardsAResolver has config/samples/inspect.yaml between hosts and the internet.
func TestTheInspectSampleGuardsAResolver(t *testing.T) {
	t.Parallel() // waits more than it works
	const far = "203.0.113.254"
	host, peer, box := lab.New(t, "host"), lab.New(t, "peer"), lab.New(t, "engine")
	lab.Cable(t, lab.End{Space: host, Device: "eth0", Address: "10.0.0.50/24"}, lab.End{Space: box, Device: "inside"})
	lab.Cable(t, lab.End{Space: peer, Device: "eth0", Address: far + "/24"}, lab.End{Space: box, Device: "outside"})
	host.Run(t, "ip", "route", "add", "default", "via", "10.0.0.1")
	engine := lab.StartEngine(t, box, officeBinds)
	engine.Load(t, lab.Compile(t, lab.Parse(t, "../../config/samples/inspect.yaml")))
	answerDNS(t, peer, far+":53")
	ask, get := names(t, host, far+":53"), pages(t, peer, far+":80", host)
	lab.Until(t, lab.Patience, func() error { _, err := ask("good.example.", shortly); return err })
	if _, err := ask(strings.Repeat("0a", 23)+".good.example.", lab.Patience); err != nil {
		t.Errorf("a name with 46 hexadecimal digits: %v", err)
	}
	for _, name := range []string{"www.malware.example.", "tracker.example.", strings.Repeat("0a", 24) + ".good.example."} {
		before := engine.Dropped(t, "dns/matched")
		if a, err := ask(name, shortly); err == nil {
			t.Errorf("%s is %s, want no answer", name, a)
		}
		if engine.Dropped(t, "dns/matched") == before {
			t.Errorf("%s: nothing is dropped as dns/matched", name)
		}
	}
	for _, ask := range [][2]string{{"www.example", "/"}, {"tracker.example.org", "/x/wpad.dat"}} {
		if text, err := get(ask[0], ask[1], "test", lab.Patience); err != nil || text != "served "+ask[1] {
			t.Errorf("of %v came %q (%v)", ask, text, err)
		}
	}
	for _, ask := range [][2]string{{"tracker.example", "/"}, {"a.b.Tracker.Example:80", "/"}, {"www.example", "/wpad.dat"}} {
		before := engine.Dropped(t, "web/matched")
		if text, err := get(ask[0], ask[1], "test", shortly); err == nil {
			t.Errorf("of %v came %q, want no answer", ask, text)
		}
		if engine.Dropped(t, "web/matched") == before {
			t.Errorf("%v: nothing is dropped as web/matched", ask)
		}
	}
}

// TestWhatIsSpreadOverSegmentsDoesNotArrive writes a text that a rule drops in pieces, each of which is a segment of its own.
func TestWhatIsSpreadOverSegmentsDoesNotArrive(t *testing.T) {
	s := inspectedSite(t)
	came := make(chan string, 100)
	lab.ServeTCP(t, s.peer, officePeer+":8080", func(c net.Conn) {
		b := make([]byte, 4096)
		for {
			n, err := c.Read(b)
			if err != nil {
				return
			}
			came <- string(b[:n])
		}
	})
	var c net.Conn
	lab.Until(t, lab.Patience, func() (err error) { c, err = dial(s.host, "tcp", officeHost+":0", officePeer+":8080"); return err })
	defer c.Close()
	got := ""
	const last = "ken and more"
	for _, piece := range []string{"a word and ", "a sec", "ret to", last} {
		if _, err := io.WriteString(c, piece); err != nil {
			t.Fatal(err)
		}
		patience := lab.Patience
		if piece == last {
			patience = shortly
		}
		for end := time.After(patience); !strings.HasSuffix(got, piece); {
			select {
			case more := <-came:
				got += more
				continue
			case <-end:
			}
			break
		}
	}
	if want := "a word and a secret to"; got != want {
		t.Errorf("%q arrived, want %q: what is before the packet that makes the text whole", got, want)
	}
	if n := ruleMatched(t, s.engine, "sid 3: token"); n != 1 {
		t.Errorf("sid 3 matched %d times, want once", n)
	}
}
