package cluster

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// told is what an API server tells that answers these paths.
func told(t *testing.T, answers map[string]string) pods {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", now.Format(http.TimeFormat))
		w.Header().Set("Content-Type", "application/json")
		text, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusUnauthorized)
			text = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "Unauthorized", "reason": "Unauthorized", "code": 401}`
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	return pods{kubernetes.NewForConfigOrDie(config), config}
}

func TestAServerTellsItsVersionAndTime(t *testing.T) {
	p := told(t, map[string]string{"/version": `{"major": "1", "minor": "37", "gitVersion": "v1.37.1"}`})
	if s, err := p.Server(t.Context()); err != nil || s.Version != "v1.37.1" || !s.Time.Equal(now.Truncate(time.Second)) {
		t.Errorf("it tells %+v, %v", s, err)
	}
	p = told(t, nil)
	if s, err := p.Server(t.Context()); err == nil || !strings.Contains(err.Error(), "401 Unauthorized: no version of Kubernetes") {
		t.Errorf("one that refuses tells %+v, %v", s, err)
	}
}

func TestAKubeletTellsItsCPUManagersPolicy(t *testing.T) {
	p := told(t, map[string]string{
		"/api/v1/nodes/node-1/proxy/configz": `{"kubeletconfig": {"cpuManagerPolicy": "static", "topologyManagerPolicy": "none"}}`,
		"/api/v1/nodes/node-2/proxy/configz": `404 page not found`,
	})
	if policy, err := p.CPUManagerPolicy(t.Context(), "node-1"); err != nil || policy != "static" {
		t.Errorf("the policy is %q, %v", policy, err)
	}
	for _, node := range []string{"node-2", "node-3"} {
		if policy, err := p.CPUManagerPolicy(t.Context(), node); err == nil {
			t.Errorf("of %s the policy is %q without an error", node, policy)
		}
	}
}
