package hostile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"syscall"
	"testing"
	"time"
)

// usualHandshake is the CPU time, client and server together, of one of Pace's handshakes where the limits of processor time that tests set
// were tried.
const usualHandshake = 700 * time.Microsecond

// Pace is how slow the machine is: the CPU time of TLS handshakes, by what it usually is; 1 at least. Of a machine that is slower, or whose
// memory is, a process under a limit of processor time gets less done. So a test that claims what a process does within such a limit sets the
// limit by the pace.
func Pace(t *testing.T) float64 {
	t.Helper()
	const handshakes = 100
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.(*tls.Conn).Handshake()
			_ = c.Close()
		}
	}()
	began := processorTime(t)
	for range handshakes {
		shake(t, l.Addr())
	}
	return max(1, float64(processorTime(t)-began)/float64(handshakes*usualHandshake))
}

// shake makes a handshake as a stranger who asks for no name.
func shake(t *testing.T, server net.Addr) {
	t.Helper()
	c, err := tls.Dial("tcp", server.String(), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

// processorTime is what this process has used of the CPUs.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
