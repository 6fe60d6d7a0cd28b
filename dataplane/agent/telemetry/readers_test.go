package telemetry

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sinter-nfv/sinter/api/pin"
)

// reviewer is an API server that knows two tokens and lets one of them read metrics.
func reviewer(t *testing.T, asked *atomic.Int64, down *atomic.Bool) *rest.Config {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		token := r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/json")
		switch {
		case down.Load():
			w.WriteHeader(http.StatusInternalServerError)
		case token != "Bearer prometheus" && token != "Bearer someone":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			var review authorizationv1.SelfSubjectAccessReview
			body, _ := io.ReadAll(r.Body)
			_ = json.Unmarshal(body, &review)
			a := review.Spec.NonResourceAttributes
			review.Status.Allowed = token == "Bearer prometheus" && a != nil && a.Path == "/metrics" && a.Verb == "get"
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(review)
		}
	}))
	t.Cleanup(s.Close)
	config := &rest.Config{Host: s.URL, BearerToken: "the agent's own"}
	config.ContentType = "application/json"
	return config
}

func TestOnlyThoseWhomTheClusterAllowsReadMetrics(t *testing.T) {
	var asked atomic.Int64
	var down atomic.Bool
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
	r := &Readers{Config: reviewer(t, &asked, &down), Clock: clock}
	handler := r.Only(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics") }))
	get := func(token string) int {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		return w.Code
	}
	for _, step := range []struct {
		what  string
		after time.Duration
		down  bool
		token string
		code  int
		asked int64
	}{
		{"nobody", 0, false, "", http.StatusUnauthorized, 0},
		{"a token that the cluster does not know", time.Second, false, "forged", http.StatusUnauthorized, 1},
		{"the next forged one at once", 0, false, "forged too", http.StatusUnauthorized, 1},
		{"one who may not", time.Second, false, "someone", http.StatusForbidden, 1},
		{"one who may", time.Second, false, "prometheus", http.StatusOK, 1},
		{"he again", time.Second, false, "prometheus", http.StatusOK, 0},
		{"he when the verdict is old", 2 * verdictHolds, false, "prometheus", http.StatusOK, 1},
		{"he when the cluster is down", 2 * verdictHolds, true, "prometheus", http.StatusOK, 1},
		{"someone when the cluster is down", time.Second, true, "someone", http.StatusServiceUnavailable, 1},
		{"he when it has been down for long", 2 * verdictKeeps, true, "prometheus", http.StatusServiceUnavailable, 1},
	} {
		clock.SetTime(clock.Now().Add(step.after))
		down.Store(step.down)
		before := asked.Load()
		if code := get(step.token); code != step.code {
			t.Errorf("%s: %d, want %d", step.what, code, step.code)
		}
		if n := asked.Load() - before; n != step.asked {
			t.Errorf("%s: the cluster was asked %d times, want %d", step.what, n, step.asked)
		}
	}
}

func TestReadersWithACertificateThatIsNamedNeedNoToken(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	of := func(key string, from, until time.Duration) *tls.ConnectionState {
		c := &x509.Certificate{RawSubjectPublicKeyInfo: []byte(key), NotBefore: now.Add(from), NotAfter: now.Add(until)}
		return &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}}
	}
	named := pin.Of(of("prometheus", 0, 0).PeerCertificates[0])
	behind := of("forged", -time.Hour, time.Hour)
	behind.PeerCertificates = append(behind.PeerCertificates, of("prometheus", -time.Hour, time.Hour).PeerCertificates...)
	for name, tt := range map[string]struct {
		pins  []string
		state *tls.ConnectionState
		token string
		code  int
		says  string
		asked int64
	}{
		"who has it":            {[]string{"another", named}, of("prometheus", -time.Hour, time.Hour), "", http.StatusOK, "metrics", 0},
		"one that nobody named": {[]string{named}, of("forged", -time.Hour, time.Hour), "", http.StatusUnauthorized, "the certificate's pin is ", 0},
		"one that nobody named before one that is": {[]string{named}, behind, "", http.StatusUnauthorized, "the certificate's pin is ", 0},
		"one before its time":                      {[]string{named}, of("prometheus", time.Hour, 2*time.Hour), "", http.StatusUnauthorized, "not valid before 2026-11-01T01:00:00Z", 0},
		"one after its time":                       {[]string{named}, of("prometheus", -2*time.Hour, -time.Hour), "", http.StatusUnauthorized, "was valid until 2026-10-31T23:00:00Z", 0},
		"nobody is named":                          {nil, of("prometheus", -time.Hour, time.Hour), "", http.StatusUnauthorized, "the certificate's pin is " + named, 0},
		"no TLS":                                   {[]string{named}, nil, "", http.StatusUnauthorized, "there is neither", 0},
		"a token beside one that nobody named":     {[]string{named}, of("forged", -time.Hour, time.Hour), "prometheus", http.StatusOK, "metrics", 1},
	} {
		var asked atomic.Int64
		var down atomic.Bool
		r := &Readers{Config: reviewer(t, &asked, &down), Clock: clocktesting.NewFakePassiveClock(now), Pins: func() []string { return tt.pins }}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		req.TLS = tt.state
		if tt.token != "" {
			req.Header.Set("Authorization", "Bearer "+tt.token)
		}
		w := httptest.NewRecorder()
		r.Only(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics") })).ServeHTTP(w, req)
		if w.Code != tt.code || !strings.Contains(w.Body.String(), tt.says) || asked.Load() != tt.asked {
			t.Errorf("%s: %d %q, and the cluster was asked %d times; want %d %q, %d times", name, w.Code, w.Body, asked.Load(), tt.code, tt.says, tt.asked)
		}
	}
}

// A stranger who forges tokens once made the agent answer everybody that it is busy.
func TestForgedTokensKeepNoReaderOut(t *testing.T) {
	var asked atomic.Int64
	var down atomic.Bool
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
	r := &Readers{Config: reviewer(t, &asked, &down), Clock: clock}
	handler := r.Only(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics") }))
	get := func(from, token string) int {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		req.RemoteAddr = from + ":5000"
		req.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		return w.Code
	}
	for second := range 600 { // ten minutes: verdicts grow old meanwhile
		for i := range 50 {
			get("10.0.0.66", fmt.Sprintf("forged %d %d", second, i))
		}
		if second%15 == 0 {
			if code := get("10.0.0.9", "prometheus"); code != http.StatusOK {
				t.Fatalf("after %d s: %d, want %d", second, code, http.StatusOK)
			}
		}
		clock.SetTime(clock.Now().Add(time.Second))
	}
	if n := asked.Load(); n > 600*askerRate+askerBurst+20 {
		t.Errorf("the cluster was asked %d times in 600 s", n)
	}
}

func TestVerdictsThatAllowOutlastOthers(t *testing.T) {
	var r Readers
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	good := sha256.Sum256([]byte("good"))
	r.keep(good, verdict{at, true})
	for i := range 10 * maxVerdicts {
		r.keep(sha256.Sum256(fmt.Append(nil, i)), verdict{at.Add(time.Duration(i)), false})
	}
	if len(r.verdicts) != maxVerdicts || !r.verdicts[good].allowed {
		t.Errorf("%d verdicts are kept, the good one: %v; want %d, and it", len(r.verdicts), r.verdicts[good].allowed, maxVerdicts)
	}
}
