package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	stdlog "log"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sinter-nfv/sinter/dataplane/agent"
	"github.com/sinter-nfv/sinter/dataplane/agent/doorway"
	"github.com/sinter-nfv/sinter/dataplane/agent/telemetry"
)

// probesLimits leave kubelet room beside 10 times the connections that it has, metricsLimits beside some readers. A handshake costs about a
// millisecond of processor time, and an agent has 50 in a second for all that it does.
var (
	probesLimits  = doorway.Limits{Total: 256, PerSource: 32, Rate: 2, Burst: 20}
	metricsLimits = doorway.Limits{Total: 64, PerSource: 8, Rate: 1, Burst: 10, Strangers: 5}
)

// serve answers HTTP, or HTTPS with a certificate, to what comes by some interfaces, until the context ends.
func serve(ctx context.Context, address string, by []int, limits doorway.Limits, handler http.Handler, certificate *tls.Certificate) error {
	open, err := doorway.Listen(ctx, address, by)
	if err != nil {
		return err
	}
	var l net.Listener = doorway.Limit(open, limits)
	if certificate != nil {
		l = tls.NewListener(l, &tls.Config{
			Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12,
			ClientAuth: tls.RequestClientCert, // whose it is, is asked of telemetry.Readers: most have none, but a token
		})
	}
	server := newServer(handler)
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// newServer waits for nobody for long, and logs few of the mistakes of strangers.
func newServer(handler http.Handler) *http.Server {
	const patience = 10 * time.Second
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	return &http.Server{
		Handler:           handler,
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connection{}, c) },
		ReadHeaderTimeout: patience,
		ReadTimeout:       patience,
		WriteTimeout:      3 * patience,
		IdleTimeout:       patience,
		MaxHeaderBytes:    16 << 10, // tokens have 1 to 2 KiB
		ErrorLog:          stdlog.New(&doorway.Writer{Print: func(line string) { log.Info(strings.TrimSpace(line)) }}, "", 0),
	}
}

// connection is the key of a request's connection in its context.
type connection struct{}

// knowing lets the door know whoever gets here.
func knowing(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connection{}).(*tls.Conn); ok {
			doorway.Know(c.NetConn())
		}
		handler.ServeHTTP(w, r)
	})
}

// metricsServer serves /metrics.
type metricsServer struct {
	address string
	auth    bool
}

func (m *metricsServer) serve(ctx context.Context, config *rest.Config, by []int, a *agent.Agent) error {
	if m.address == "" {
		return nil
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(a.Metrics(), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	var certificate *tls.Certificate
	if m.auth {
		var err error
		if certificate, err = selfSigned(); err != nil {
			return fmt.Errorf("metrics: certificate: %w", err)
		}
		readers := &telemetry.Readers{Config: config, Clock: clock.RealClock{}, Pins: a.MetricsReaders}
		handler = readers.Only(knowing(handler))
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", handler)
	return serve(ctx, m.address, by, metricsLimits, mux, certificate)
}

// selfSigned is a certificate of the pod's own: a scrape is by the pod's address, for which no authority signs. Its key is of P-256: an RSA
// handshake costs ten times the processor time, and whoever reaches the port may ask for one.
func selfSigned() (*tls.Certificate, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	const lasts = 365 * 24 * time.Hour // as long as a pod should; nobody verifies it
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(lasts),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
