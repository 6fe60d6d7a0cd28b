package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/pin"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent"
	"github.com/sinter-nfv/sinter/dataplane/agent/telemetry"
	"github.com/sinter-nfv/sinter/test/agenttest"
	"github.com/sinter-nfv/sinter/test/free"
)

// reads is the status that a reader with a certificate gets; 0 with the error of its handshake.
func reads(t *testing.T, url string, with ...tls.Certificate) (int, error) {
	t.Helper()
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: with, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
	}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// newReader is a reader's certificate, with its key and as others see it.
func newReader(t *testing.T) (*tls.Certificate, *x509.Certificate) {
	t.Helper()
	pair, err := selfSigned()
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return pair, certificate
}

func TestAPodsMetricsAreForTheReadersOfItsInstance(t *testing.T) {
	dir := agenttest.Folder(t)
	cluster := agenttest.NewCluster(t, agenttest.Instance("edge-1"))
	a := agent.New(agent.Config{
		Client: cluster, Instance: client.ObjectKey{Namespace: "default", Name: "edge-0"}, Node: "node-1",
		Socket: filepath.Join(dir, "s"), Programs: filepath.Join(dir, "programs"), Binding: filepath.Join(dir, "binding.json"),
		Draining: filepath.Join(dir, "draining"), Clock: clock.RealClock{}, Log: testr.New(t),
	})
	server := metricsServer{address: free.Address(t), auth: true}
	ctx, stop := context.WithCancel(t.Context())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.Run(ctx) })
	group.Go(func() error { return server.serve(ctx, nil, nil, a) })
	defer func() {
		stop()
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	}()

	reader, certificate := newReader(t)
	metrics := "https://" + server.address + "/metrics"
	agenttest.Eventually(t, func() error { // until it listens
		code, err := reads(t, metrics, *reader)
		if err == nil && code != http.StatusUnauthorized {
			t.Fatalf("a reader that the instance does not name gets %d, want %d", code, http.StatusUnauthorized)
		}
		return err
	})
	pins := []string{pin.Of(certificate)}
	agenttest.Change(t, cluster, func(spec *v1alpha1.ChainInstanceSpec) { spec.MetricsReaders = pins })
	agenttest.Eventually(t, func() error {
		if heard := a.MetricsReaders(); !slices.Equal(heard, pins) {
			return fmt.Errorf("the agent has heard of readers %q, want %q", heard, pins)
		}
		return nil
	})
	if code, err := reads(t, metrics, *reader); code != http.StatusOK {
		t.Errorf("the reader of the instance gets %d, %v, want %d", code, err, http.StatusOK)
	}
}

// Prometheus scrapes each pod that has the labels of a data plane. It gave a token away to a pod of a stranger, who could read all metrics with it.
func TestAReadersCertificateIsOfNoUseToAPodThatWasRead(t *testing.T) {
	own, err := selfSigned()
	if err != nil {
		t.Fatal(err)
	}
	reader, certificate := newReader(t)
	pins := []string{pin.Of(certificate)}
	readers := &telemetry.Readers{Clock: clock.RealClock{}, Pins: func() []string { return pins }}
	pod := "https://" + served(t, metricsLimits, own, knowing, readers.Only) + "/metrics"
	if code, err := reads(t, pod, *reader); code != http.StatusOK {
		t.Fatalf("the reader gets %d, %v, want %d", code, err, http.StatusOK)
	}

	// The stranger's pod keeps all that it is sent.
	var seen tls.ConnectionState
	var header http.Header
	stranger := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen, header = *r.TLS, r.Header.Clone() }))
	stranger.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	stranger.StartTLS()
	defer stranger.Close()
	if code, err := reads(t, stranger.URL, *reader); code != http.StatusOK || len(seen.PeerCertificates) != 1 {
		t.Fatalf("the stranger is not read: %d, %v", code, err)
	}
	if header.Get("Authorization") != "" || !slices.Equal(seen.PeerCertificates[0].Raw, certificate.Raw) {
		t.Fatalf("the stranger has seen %v, want the reader's certificate alone", header)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for version, name := range map[uint16]string{tls.VersionTLS12: "TLS 1.2", tls.VersionTLS13: "TLS 1.3"} {
		forged := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, MinVersion: version, MaxVersion: version,
			Certificates: []tls.Certificate{{Certificate: [][]byte{seen.PeerCertificates[0].Raw}, PrivateKey: key}},
		}}}
		if err := get(t, forged, pod); err == nil {
			t.Errorf("%s: the stranger reads metrics with the reader's certificate", name)
		}
	}
	if code, err := reads(t, pod); code != http.StatusUnauthorized {
		t.Errorf("without a certificate: %d, %v, want %d", code, err, http.StatusUnauthorized)
	}

	pins = nil
	if code, err := reads(t, pod, *reader); code != http.StatusUnauthorized {
		t.Errorf("a reader that is none any more gets %d, %v, want %d", code, err, http.StatusUnauthorized)
	}
}
