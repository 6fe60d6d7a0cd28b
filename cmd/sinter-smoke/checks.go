package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/cmd/sinter-smoke/chains"
)

// smoke is what is known of the installation under test.
type smoke struct {
	api        client.Client
	namespace  string
	lease      string
	webhook    bool
	metricsURL string
	metricsCA  string
	token      string
	now        func() time.Time
}

func (s *smoke) checks() []check {
	checks := []check{{"the API server knows the kinds of " + v1alpha1.GroupVersion.String(), s.kindsServed}}
	if s.lease != "" {
		checks = append(checks, check{"one operator leads", s.leaderAlive})
	}
	checks = append(checks, check{"a good chain is taken", s.goodTaken})
	if s.webhook {
		checks = append(checks, check{"a bad chain is refused by the webhook", s.badRefused})
	}
	if s.metricsURL != "" {
		checks = append(checks,
			check{"metrics are refused to strangers", s.metricsAnswer("", http.StatusUnauthorized, http.StatusForbidden)},
			check{"metrics are shown to their readers", s.metricsAnswer(s.token, http.StatusOK)})
	}
	return checks
}

func (s *smoke) kindsServed(context.Context) error {
	var errs []error
	for _, kind := range []string{"ServiceChain", "NetworkFunction", "ChainProgram", "ChainInstance"} {
		_, err := s.api.RESTMapper().RESTMapping(schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: kind}, v1alpha1.GroupVersion.Version)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (s *smoke) leaderAlive(ctx context.Context) error {
	var lease coordinationv1.Lease
	if err := s.api.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.lease}, &lease); err != nil {
		return err
	}
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return fmt.Errorf("lease %s/%s has no holder", s.namespace, s.lease)
	}
	if ends := spec.RenewTime.Add(time.Duration(*spec.LeaseDurationSeconds) * time.Second); s.now().After(ends) {
		return fmt.Errorf("lease %s/%s of %s ran out at %s", s.namespace, s.lease, *spec.HolderIdentity, ends.Format(time.RFC3339))
	}
	return nil
}

func (s *smoke) goodTaken(ctx context.Context) error {
	return s.try(ctx, chains.Good)
}

func (s *smoke) badRefused(ctx context.Context) error {
	err := s.try(ctx, chains.Bad)
	switch {
	case err == nil:
		return errors.New("it was taken: the webhook is not called")
	case !strings.Contains(err.Error(), chains.Fault):
		return fmt.Errorf("refused, but not for its fault: %w", err)
	}
	return nil
}

// try asks the API server to create a chain without keeping it.
func (s *smoke) try(ctx context.Context, text []byte) error {
	var chain unstructured.Unstructured
	if err := yaml.Unmarshal(text, &chain.Object); err != nil {
		return err
	}
	chain.SetNamespace(s.namespace)
	return s.api.Create(ctx, &chain, client.DryRunAll)
}

func (s *smoke) metricsAnswer(token string, want ...int) func(context.Context) error {
	return func(ctx context.Context) error {
		got, err := s.getMetrics(ctx, token)
		if err != nil {
			return err
		}
		for _, status := range want {
			if got == status {
				return nil
			}
		}
		return fmt.Errorf("GET %s: status %d, want %v", s.metricsURL, got, want)
	}
}

func (s *smoke) getMetrics(ctx context.Context, token string) (status int, err error) {
	roots, err := s.roots()
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.metricsURL, nil)
	if err != nil {
		return 0, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// roots are the authorities to trust: nil for the machine's.
func (s *smoke) roots() (*x509.CertPool, error) {
	if s.metricsCA == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(s.metricsCA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: no certificate in PEM", s.metricsCA)
	}
	return roots, nil
}
