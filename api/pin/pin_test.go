package pin

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
)

// The certificate and its pin are by other hands: openssl x509 -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64.
const (
	known = `-----BEGIN CERTIFICATE-----
MIIBeDCCAR2gAwIBAgIUHEr8nLuZNdVvd6bOcyE/BmxU3PkwCgYIKoZIzj0EAwIw
ETEPMA0GA1UEAwwGcmVhZGVyMB4XDTI2MTIwMTA5NDI0N1oXDTM2MTEyODA5NDI0
N1owETEPMA0GA1UEAwwGcmVhZGVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
T1nSHjZZQQWRxKYfs1ZmbMTcoteeZFZ33F1mRqZjQmzr/twbVj5vbNMntEFEDLq6
LGilWk41rWlFfL+XUNeQB6NTMFEwHQYDVR0OBBYEFMZ6WRSmAtVX7dbu79LSttLP
d6qKMB8GA1UdIwQYMBaAFMZ6WRSmAtVX7dbu79LSttLPd6qKMA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAKBAxzvoickVUf4xK23dXDqRTy5DWoq3
PdNQpDGhH2nzAiEAom3yA0WQfjm5HqU5pG6IddE2SEnHTeIFD4NRPIptdH0=
-----END CERTIFICATE-----
`
	knownPin = "iU8OiqUSfXo4tpDcGSGl7b7uSkJfIktdfGlp0HdIUFw="
)

// signed is a certificate of a key, in PEM.
func signed(t *testing.T, key *ecdsa.PrivateKey, serial int64) string {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(serial<<30, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestAPinIsOfTheFirstCertificatesKey(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own, err := Read([]byte(signed(t, key, 1)))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ file, pin string }{
		"one certificate":               {known, knownPin},
		"an authority's behind it":      {known + signed(t, key, 1), knownPin},
		"a key before it":               {"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n" + known, knownPin},
		"renewed with the same key":     {signed(t, key, 2), own},
		"another certificate behind it": {signed(t, key, 2) + known, own},
	} {
		if got, err := Read([]byte(tt.file)); err != nil || got != tt.pin {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tt.pin)
		}
	}
	if own == knownPin {
		t.Error("two keys have one pin")
	}
}

func TestAFileWithoutACertificateHasNoPin(t *testing.T) {
	for _, tt := range []struct{ file, says string }{
		{"", "want a certificate in PEM"},
		{"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "want a certificate in PEM"},
		{"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "its first certificate: "},
	} {
		if got, err := Read([]byte(tt.file)); err == nil || !strings.HasPrefix(err.Error(), tt.says) {
			t.Errorf("%q: %q, %v, want an error that begins with %q", tt.file, got, err, tt.says)
		}
	}
}
