package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/agent/doorway"
)

// served is the address of a server that says ok.
func served(t *testing.T, limits doorway.Limits, certificate *tls.Certificate, around ...func(http.Handler) http.Handler) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close() // a port that is free
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	var ok http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	for _, a := range around {
		ok = a(ok)
	}
	go func() { done <- serve(ctx, address, nil, limits, ok, certificate) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = c.Close()
			return address
		}
		if time.Since(start) > 10*time.Second {
			t.Fatal(err)
		}
	}
}

// from is a dialer of an address of the loopback network.
func from(address string) *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: 5 * time.Second}
}

func get(t *testing.T, client *http.Client, url string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func TestKubeletIsAnsweredBesideThousandsOfIdleConnections(t *testing.T) {
	address := served(t, probesLimits, nil)
	// As long as the pod's probes have (controllers/chaininstance).
	kubelet := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DialContext: from("127.0.0.1").DialContext, DisableKeepAlives: true}}
	var idle []net.Conn
	for i := range 3400 {
		// A source that opens too many at once is reset: that is no matter here.
		if c, err := from(fmt.Sprintf("127.1.%d.%d", i%100, 1+i%7)).DialContext(t.Context(), "tcp", address); err == nil {
			defer c.Close()
			idle = append(idle, c)
		}
		if i%200 == 0 { // the kubelet asks once in two seconds
			if err := get(t, kubelet, "http://"+address+"/livez"); err != nil {
				t.Fatalf("beside %d idle connections: %v", i, err)
			}
		}
	}
	left := len(idle)
	for deadline := time.Now().Add(5 * time.Second); left > probesLimits.Total && time.Now().Before(deadline); {
		left = 0
		for _, c := range idle { // those that the server has not accepted yet are open, too
			_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
			if _, err := c.Read(make([]byte, 1)); isTimeout(err) {
				left++
			}
		}
	}
	if left > probesLimits.Total {
		t.Errorf("the server keeps %d idle connections, want %d at most", left, probesLimits.Total)
	}
}

func isTimeout(err error) bool {
	n, ok := err.(net.Error) //nolint:errorlint // as net returns it
	return ok && n.Timeout()
}

func TestMetricsAreReadBesideHandshakesWithoutEnd(t *testing.T) {
	certificate, err := selfSigned()
	if err != nil {
		t.Fatal(err)
	}
	address := served(t, metricsLimits, certificate, knowing)
	any := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} // the certificate is the pod's own
	prometheus := &http.Client{Timeout: time.Second, Transport: &http.Transport{
		DialContext: from("127.0.0.1").DialContext, TLSClientConfig: any, DisableKeepAlives: true,
	}}
	if err := get(t, prometheus, "https://"+address+"/metrics"); err != nil { // it is known from now on: a stranger may be refused for another one
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	handshakes, done := 0, make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			c, err := from("127.0.0.9").DialContext(ctx, "tcp", address)
			if err != nil {
				continue
			}
			if tls.Client(c, any).HandshakeContext(ctx) == nil {
				handshakes++
			}
			_ = c.Close()
		}
	}()
	began := time.Now()
	for range 7 {
		if err := get(t, prometheus, "https://"+address+"/metrics"); err != nil {
			t.Error(err)
		}
		time.Sleep(250 * time.Millisecond)
	}
	cancel()
	<-done
	took := time.Since(began).Seconds()
	if most := float64(metricsLimits.Burst) + metricsLimits.Rate*took + 1; float64(handshakes) > most {
		t.Errorf("a stranger had %d handshakes in %.1f s, want %.0f at most", handshakes, took, most)
	}
}

func TestAReaderThatIsKnownIsReadBesideStrangersFromEverywhere(t *testing.T) {
	certificate, err := selfSigned()
	if err != nil {
		t.Fatal(err)
	}
	limits := metricsLimits
	limits.Strangers = 2
	address := served(t, limits, certificate, knowing)
	client := func(source string) *http.Client {
		return &http.Client{Timeout: time.Second, Transport: &http.Transport{
			DialContext: from(source).DialContext, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
		}}
	}
	prometheus := client("127.0.0.1")
	for deadline := time.Now().Add(10 * time.Second); get(t, prometheus, "https://"+address+"/metrics") != nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the reader never got in")
		}
	}
	refused := 0
	for i := range 20 { // each of an address of its own
		c, err := from(fmt.Sprintf("127.0.3.%d", 1+i)).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = c.SetDeadline(time.Now().Add(time.Second))
			err = tls.Client(c, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}).HandshakeContext(t.Context())
			_ = c.Close()
		}
		if err != nil {
			refused++
		}
		if i%4 == 0 {
			if err := get(t, prometheus, "https://"+address+"/metrics"); err != nil {
				t.Errorf("after %d strangers: %v", i, err)
			}
		}
	}
	if refused == 0 {
		t.Error("all strangers were let in: this test shows nothing")
	}
}
