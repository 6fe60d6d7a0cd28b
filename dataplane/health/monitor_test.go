package health

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

const patience = 20 * time.Second

// eventually fails unless something holds soon.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

func TestProbes(t *testing.T) {
	status := atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/live":
		case "/endless":
			w.Header().Set("X-Endless", strings.Repeat("x", 2*maxHeader))
		default:
			status.Store(http.StatusNotFound)
		}
		w.WriteHeader(int(status.Load()))
	}))
	defer server.Close()
	at := netip.MustParseAddrPort(server.Listener.Addr().String())
	dial := Dial(new(net.Dialer).DialContext)
	check := Check{To: at, Timeout: time.Second}
	if err := dial.Probe(t.Context(), check); err != nil {
		t.Errorf("a connection: %v", err)
	}
	check.Path = "/live"
	for code, healthy := range map[int32]bool{200: true, 204: true, 302: true, 400: false, 503: false} {
		status.Store(code)
		if err := dial.Probe(t.Context(), check); (err == nil) != healthy {
			t.Errorf("status %d: %v, want healthy: %t", code, err, healthy)
		}
	}
	status.Store(http.StatusOK)
	if err := dial.Probe(t.Context(), Check{To: at, Path: "/endless", Timeout: time.Second}); err == nil {
		t.Error("a server whose headers do not end is healthy")
	}
	server.Close()
	if dial.Probe(t.Context(), check) == nil || dial.Probe(t.Context(), Check{To: at, Timeout: time.Second}) == nil {
		t.Error("a server that is gone is healthy")
	}
	silent := Dial(func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() })
	if err := silent.Probe(t.Context(), Check{To: at, Timeout: 10 * time.Millisecond}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a silent server: %v, want that its time is over", err)
	}
}

// engine is what a monitor tells.
type engine struct {
	mu     sync.Mutex
	told   []string
	absent bool
}

func (e *engine) set(_ context.Context, states []*programpb.BackendState) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.absent {
		return errors.New("no engine")
	}
	s := ""
	for _, k := range states {
		s += fmt.Sprintf("%d:%t ", k.GetAddress()&255, k.GetDown())
	}
	e.told = append(e.told, s)
	return nil
}

func (e *engine) last() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.told) == 0 {
		return "nothing"
	}
	return e.told[len(e.told)-1]
}

func TestAMonitorTellsTheEngineWhoIsDown(t *testing.T) {
	var dead atomic.Int32 // the last byte of the address of a backend that does not answer
	var program atomic.Pointer[programpb.Program]
	e := &engine{absent: true}
	m := Monitor{
		Program: program.Load, Set: e.set, Say: t.Logf,
		Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			if address == fmt.Sprintf("10.0.0.%d:80", dead.Load()) {
				return nil, errors.New("it is dead")
			}
			here, there := net.Pipe()
			return here, there.Close()
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { m.Run(ctx); close(over) }()
	defer func() { cancel(); <-over }()

	dead.Store(2)
	program.Store(balanced([]uint32{1, 1}, nil))
	time.Sleep(300 * time.Millisecond)
	e.mu.Lock()
	e.absent = false
	e.mu.Unlock()
	eventually(t, "the second backend is down, as an engine that comes later hears", func() bool { return e.last() == "2:true " })
	dead.Store(1)
	eventually(t, "the first is down instead", func() bool { return e.last() == "1:true " })
	program.Store(balanced([]uint32{1, 1}, func(b *programpb.Balancer) { b.Backends = b.Backends[1:] }))
	eventually(t, "it is no backend any more", func() bool { return e.last() == "" })
}
