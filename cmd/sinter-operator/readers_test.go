package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sinter-nfv/sinter/api/pin"
)

// issue writes a certificate of a new key, and gives its pin.
func issue(t *testing.T, file string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	write(t, file, string(text))
	own, err := pin.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return own
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestChainsAreToldWhenTheReadersCertificateIsAnotherOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "tls.crt")
		first := issue(t, file)
		r, err := newReaders(file)
		if err != nil || !slices.Equal(r.pins(), []string{first}) {
			t.Fatalf("pins are %q, %v, want %q", r.pins(), err, first)
		}
		second := issue(t, file) // before the replica leads
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- r.Start(ctx) }()
		told := func() bool {
			select {
			case <-r.changed:
				return true
			case <-time.After(3 * readReaders):
				return false
			}
		}
		synctest.Wait()
		if !slices.Equal(r.pins(), []string{second}) || r.NeedLeaderElection() || !told() {
			t.Errorf("pins are %q, want %q at once, in each replica, and chains told", r.pins(), second)
		}
		if told() {
			t.Error("chains are told, though nothing has changed")
		}
		write(t, file, "half a certifi")
		if told() || !slices.Equal(r.pins(), []string{second}) {
			t.Errorf("with a file that has none, pins are %q, want %q as before, and nobody told", r.pins(), second)
		}
		third := issue(t, file)
		if !told() || !slices.Equal(r.pins(), []string{third}) {
			t.Errorf("pins are %q, want %q, and chains told", r.pins(), third)
		}
		issue(t, file)
		time.Sleep(2 * readReaders) // nobody listens: the leader is another one
		last := issue(t, file)
		time.Sleep(2 * readReaders)
		if !slices.Equal(r.pins(), []string{last}) {
			t.Errorf("before the replica leads, pins are %q, want %q", r.pins(), last)
		}
		if !told() || told() {
			t.Error("want a new leader's chains told once")
		}
		issue(t, file)
		time.Sleep(2 * readReaders)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestAReadersCertificateThatIsNoneIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tls.crt")
	if _, err := newReaders(file); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a file that is missing: %v", err)
	}
	write(t, file, "")
	if _, err := newReaders(file); err == nil || !strings.HasSuffix(err.Error(), "tls.crt: want a certificate in PEM (-----BEGIN CERTIFICATE-----)") {
		t.Errorf("an empty file: %v", err)
	}
	r, err := newReaders("")
	if err != nil || r.pins() != nil {
		t.Errorf("without a file: %q, %v; want none", r.pins(), err)
	}
	if err := r.Start(t.Context()); err != nil {
		t.Errorf("without a file: %v", err)
	}
}
