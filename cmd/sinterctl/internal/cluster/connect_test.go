package cluster

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// An API server, or what stands before it, may take a request and never answer it.
func TestARequestToAServerThatNeverAnswersEnds(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	var f Flags
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Add(flags)
	if got := flags.Lookup("request-timeout").DefValue; got != "30s" {
		t.Errorf("without the flag a request may take %q, want 30s", got)
	}
	if err := flags.Parse([]string{"--server", server.URL, "--request-timeout", "200ms"}); err != nil {
		t.Fatal(err)
	}
	c, err := f.Connect()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := c.Client.List(t.Context(), &v1alpha1.ServiceChainList{}); err == nil || time.Since(began) > 10*time.Second {
		t.Errorf("after %s the answer is %v, want an error in a second", time.Since(began), err)
	}
}
