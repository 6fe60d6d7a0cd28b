package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"

	"github.com/sinter-nfv/sinter/dataplane/agent/telemetry"
)

// serve answers HTTP, or HTTPS with a certificate, until the context ends.
func serve(ctx context.Context, address string, handler http.Handler, certificate *tls.Certificate) error {
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	var err error
	if certificate == nil {
		err = server.ListenAndServe()
	} else {
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12}
		err = server.ListenAndServeTLS("", "")
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// metricsServer serves /metrics.
type metricsServer struct {
	address string
	auth    bool
}

func (m *metricsServer) serve(ctx context.Context, config *rest.Config, engine prometheus.Collector) error {
	if m.address == "" {
		return nil
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(engine, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	var certificate *tls.Certificate
	if m.auth {
		var err error
		if certificate, err = selfSigned(); err != nil {
			return fmt.Errorf("metrics: certificate: %w", err)
		}
		readers := &telemetry.Readers{Config: config, Clock: clock.RealClock{}}
		handler = readers.Only(handler)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", handler)
	return serve(ctx, m.address, mux, certificate)
}

// selfSigned is a certificate of the pod's own: a scrape is by the pod's address, for which no authority signs.
func selfSigned() (*tls.Certificate, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	chain, key, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(chain, key)
	return &pair, err
}
