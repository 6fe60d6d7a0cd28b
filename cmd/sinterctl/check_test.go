package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A server may take a request and never answer it.
func TestACheckDoesNotWaitForever(t *testing.T) {
	for name, c := range map[string]struct {
		answers string // paths that begin so are answered
		want    string
	}{
		"a server that never answers":          {"/none", "the API server does not answer"},
		"a server that only tells its version": {"/version", "the API server does not say what it serves"},
		"a server that does not list":          {"/api", "list nodes: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch {
				case r.URL.Path == "/version" && c.answers != "/none":
					fmt.Fprint(w, `{"gitVersion": "v1.37.1"}`)
				case r.URL.Path == "/apis" && c.answers == "/api":
					fmt.Fprint(w, `{"kind": "APIGroupList", "apiVersion": "v1", "groups": []}`)
				case r.URL.Path == "/api" && c.answers == "/api":
					fmt.Fprint(w, `{"kind": "APIVersions", "versions": ["v1"]}`)
				case r.URL.Path == "/api/v1" && c.answers == "/api":
					fmt.Fprint(w, `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [{"name": "nodes", "kind": "Node"}]}`)
				case strings.HasPrefix(r.URL.Path, "/apis/") && c.answers == "/api":
					http.NotFound(w, r)
				default:
					<-r.Context().Done()
				}
			}))
			defer server.Close()
			began := time.Now()
			stdout, _, err := sinterctl(t, "cluster", "check", "--server", server.URL, "--request-timeout", "300ms")
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
			if !strings.Contains(stdout, c.want) {
				t.Errorf("it says %q, %v, want %q", stdout, err, c.want)
			}
		})
	}
}
