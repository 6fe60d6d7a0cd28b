package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// completed is what a shell is offered for a command line that ends with something begun.
func completed(t *testing.T, args ...string) []string {
	t.Helper()
	out, _, err := sinterctl(t, append([]string{"__complete"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[:len(lines)-1] // the last one is the directive
}

func TestValuesAreCompleted(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "engine.sock")
	encoded, _, err := sinterctl(t, "synth", office, "-o", "program")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(socket+".program", []byte(encoded), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want []string // among others, if the last one is empty
	}{
		"outputs":                {[]string{"synth", office, "-o", ""}, []string{"table", "json", "yaml", "dot", "svg", "program"}},
		"outputs begun":          {[]string{"synth", office, "--output", "j"}, []string{"json"}},
		"outputs of validate":    {[]string{"validate", office, "-o", ""}, []string{"text", "json", "yaml"}},
		"outputs of the cluster": {[]string{"cluster", "top", "flows", "edge", "-o", ""}, []string{"text", "json", "yaml"}},
		"outputs of check":       {[]string{"cluster", "check", "-o", ""}, []string{"text", "json", "yaml"}},
		"outputs of the test":    {[]string{"cluster", "connectivity-test", "-o", ""}, []string{"text", "json", "yaml"}},
		"outputs of status":      {[]string{"cluster", "status", "-o", ""}, []string{"table", "wide", "json", "yaml"}},
		"outputs of shards":      {[]string{"cluster", "shards", "edge", "-o", ""}, []string{"table", "wide", "json", "yaml"}},
		"outputs of programs":    {[]string{"cluster", "programs", "edge", "-o", ""}, []string{"table", "wide", "json", "yaml"}},
		"outputs of diff":        {[]string{"cluster", "diff", "edge", "1", "2", "-o", ""}, []string{"text", "json", "yaml"}},
		"chains of files":        {[]string{"synth", office, "--chain", ""}, []string{"office"}},
		"interfaces":             {[]string{"explain", office, "--in", ""}, []string{"inside", "outside"}},
		"interfaces of bench":    {[]string{"bench", office, "--in", "o"}, []string{"outside"}},
		"interfaces to bind":     {[]string{"run", office, "--bind", ""}, []string{"inside=", "outside="}},
		"protocols":              {[]string{"explain", office, "--proto", ""}, []string{"tcp", "udp", "icmp"}},
		"lists":                  {[]string{"top", "fl"}, []string{"flows"}},
		"lists of the cluster":   {[]string{"cluster", "top", "fl"}, []string{"flows"}},
		"manifests":              {[]string{"validate", ""}, []string{"yaml", "yml", "click"}},
		"segments":               {[]string{"trace", "--socket", socket, "--class", "from in"}, []string{"from inside"}},
		"classes":                {[]string{"trace", "--socket", socket, "--class", "from inside:"}, []string{"from inside:0", "from inside:1", ""}},
		"reasons":                {[]string{"trace", "--socket", socket, "--drop", "nat/"}, []string{"nat/subscriber-limit"}},
		"reasons of the engine":  {[]string{"trace", "--socket", socket, "--drop", "nat-ex"}, []string{"nat-exhausted"}},
		"no file":                {[]string{"explain", "testdata/none.yaml", "--in", ""}, nil},
		"no engine":              {[]string{"trace", "--socket", "none", "--class", ""}, nil},
		"contexts":               {[]string{"cluster", "status", "--kubeconfig", "testdata/kubeconfig.yaml", "--context", ""}, []string{"lab", "production"}},
		"contexts begun":         {[]string{"cluster", "check", "--kubeconfig", "testdata/kubeconfig.yaml", "--context", "p"}, []string{"production"}},
		"no kubeconfig":          {[]string{"cluster", "diff", "--kubeconfig", "testdata/none", "--context", ""}, nil},
		"no namespaces":          {[]string{"cluster", "explain", "--kubeconfig", "testdata/none", "-n", ""}, nil},
		"no revisions":           {[]string{"cluster", "rollback", "--server", "http://127.0.0.1:1", "office", ""}, nil},
		"no cluster":             {[]string{"cluster", "status", "--kubeconfig", "testdata/none", ""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := completed(t, c.args...)
			if more := len(c.want) > 0 && c.want[len(c.want)-1] == ""; more {
				for _, v := range c.want[:len(c.want)-1] {
					if !slices.Contains(got, v) {
						t.Errorf("offered are %q, want %q among them", got, v)
					}
				}
				return
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("offered are %q, want %q", got, c.want)
			}
		})
	}
}

// A server may take a request and never answer it, and a shell waits for the completion.
func TestCompletionDoesNotWaitForever(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(func() { _ = server.Config.Close() }) // it waits for no request
	for _, line := range []string{"rollback office", "status --namespace", "top flows office --instance", "trace office --class"} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			args := append([]string{"cluster", "--server", server.URL}, strings.Fields(line)...)
			if got := completed(t, append(args, "")...); len(got) > 0 {
				t.Errorf("offered are %q", got)
			}
			if took := time.Since(began); took > completionTimeout+2*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// A flag with values that nobody offers is one that was forgotten.
func TestAllChoicesAreCompleted(t *testing.T) {
	for _, plugin := range []bool{false, true} {
		root := newRoot(plugin)
		for _, c := range root.Commands() {
			if f := c.Flags().Lookup("output"); f != nil {
				if _, ok := c.GetFlagCompletionFunc("output"); !ok {
					t.Errorf("plugin %v: %s --output has no completion", plugin, c.Name())
				}
			}
			for _, flag := range []string{"instance", "class", "drop"} {
				if _, ok := c.GetFlagCompletionFunc(flag); !ok && c.Flags().Lookup(flag) != nil {
					t.Errorf("plugin %v: %s --%s has no completion", plugin, c.Name(), flag)
				}
			}
		}
	}
}
