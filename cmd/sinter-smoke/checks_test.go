package main

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/cmd/sinter-smoke/chains"
	"github.com/sinter-nfv/sinter/controllers/compile"
)

// now is when the tests happen.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestChainsAreWhatTheirNamesSay(t *testing.T) {
	if out := compiled(t, chains.Good); out.Findings.HasErrors() {
		t.Errorf("chains/good.yaml: %s", out.Message)
	}
	if out := compiled(t, chains.Bad); !out.Findings.HasErrors() || !strings.Contains(out.Message, chains.Fault) {
		t.Errorf("chains/bad.yaml: want an error with %q, got %q", chains.Fault, out.Message)
	}
}

func compiled(t *testing.T, text []byte) compile.Outcome {
	t.Helper()
	bundle, findings := manifest.Parse("chain.yaml", text, nil) // sets the defaults, as the API server does
	if findings.HasErrors() {
		t.Fatal(findings)
	}
	return compile.Chain(bundle.Chains[0], compile.Inputs{})
}

func TestBadChainMustBeRefusedForItsFault(t *testing.T) {
	tests := map[string]struct {
		answer error
		well   bool
	}{
		"the webhook names the fault":                {errors.New(`admission webhook denied the request: "lost": ` + chains.Fault), true},
		"nobody checks, and the chain is taken":      {nil, false},
		"the webhook cannot be called":               {errors.New("failed calling webhook: connection refused"), false},
		"the account may not create chains to begin": {errors.New("servicechains is forbidden"), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &smoke{namespace: "sinter-system", api: interceptor.NewClient(fakeCluster(t), interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, o client.Object, options ...client.CreateOption) error {
					applied := (&client.CreateOptions{}).ApplyOptions(options)
					if len(applied.DryRun) == 0 || o.GetNamespace() != "sinter-system" {
						t.Errorf("chain %s/%s would really be created", o.GetNamespace(), o.GetName())
					}
					return tt.answer
				},
			})}
			if err := s.badRefused(t.Context()); (err == nil) != tt.well {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestLeaderIsAliveWhileItsLeaseRuns(t *testing.T) {
	lease := func(holder string, renewed time.Duration) *coordinationv1.Lease {
		seconds, at := int32(15), metav1.NewMicroTime(now.Add(-renewed))
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "sinter-system", Name: "operator"},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &at},
		}
	}
	tests := map[string]struct {
		lease *coordinationv1.Lease
		says  string
	}{
		"renewed just now":           {lease("a", time.Second), ""},
		"run out":                    {lease("a", 16*time.Second), "ran out"},
		"given up":                   {lease("", time.Second), "no holder"},
		"of an operator not started": {nil, "not found"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			if tt.lease != nil {
				objects = append(objects, tt.lease)
			}
			s := &smoke{api: fakeCluster(t, objects...), namespace: "sinter-system", lease: "operator", now: func() time.Time { return now }}
			err := s.leaderAlive(t.Context())
			if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
}

func TestMetricsAreForThoseWithAToken(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	authority := filepath.Join(t.TempDir(), "ca.crt")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(authority, block, 0o600); err != nil {
		t.Fatal(err)
	}

	s := &smoke{metricsURL: server.URL, metricsCA: authority}
	if err := s.metricsAnswer("", http.StatusUnauthorized, http.StatusForbidden)(t.Context()); err != nil {
		t.Errorf("without a token: %v", err)
	}
	if err := s.metricsAnswer("secret", http.StatusOK)(t.Context()); err != nil {
		t.Errorf("with a token: %v", err)
	}
	if err := s.metricsAnswer("", http.StatusOK)(t.Context()); err == nil {
		t.Error("a stranger's refusal passes for an answer")
	}
	s.metricsCA = ""
	if err := s.metricsAnswer("secret", http.StatusOK)(t.Context()); err == nil {
		t.Error("a certificate that nobody vouches for is trusted")
	}
}

func TestReportTriesUntilAllIsWellOrTimeIsUp(t *testing.T) {
	tries := 0
	soon := check{"soon", func(context.Context) error {
		if tries++; tries < 3 {
			return errors.New("not yet")
		}
		return nil
	}}
	var out strings.Builder
	if err := report(t.Context(), []check{soon}, time.Millisecond, &out); err != nil || out.String() != "ok    soon\n" {
		t.Errorf("got %v and %q", err, out.String())
	}

	never := check{"never", func(context.Context) error { return errors.New("broken") }}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	out.Reset()
	err := report(ctx, []check{never, {"late", func(ctx context.Context) error { return ctx.Err() }}}, time.Millisecond, &out)
	if err == nil || !strings.Contains(out.String(), "FAIL  never: broken\n") || !strings.Contains(out.String(), "FAIL  late: ") {
		t.Errorf("got %v and %q", err, out.String())
	}
}

func fakeCluster(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}
