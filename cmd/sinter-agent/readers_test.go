package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/sinter-nfv/sinter/api/pin"
	"github.com/sinter-nfv/sinter/dataplane/agent/telemetry"
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

// Prometheus scrapes each pod that has the labels of a data plane. It gave a token away to a pod of a stranger, who could read all metrics with it.
func TestAReadersCertificateIsOfNoUseToAPodThatWasRead(t *testing.T) {
	own, err := selfSigned()
	if err != nil {
		t.Fatal(err)
	}
	reader, err := selfSigned()
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(reader.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
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
