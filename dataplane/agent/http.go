package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/control"
)

// Handler answers kubelet's questions.
//
//	/livez    the agent itself is alive
//	/healthz  the engine answers, and every core does its rounds
//	/readyz   a program is in force, and the pod is not being drained
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", answer(func(context.Context) error { return nil }))
	mux.HandleFunc("GET /healthz", answer(a.healthy))
	mux.HandleFunc("GET /readyz", answer(a.ready))
	return mux
}

func answer(check func(context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// A client that disconnects must not close the engine's connection.
		if err := check(context.WithoutCancel(r.Context())); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	}
}

func (a *Agent) healthy(ctx context.Context) error {
	if a.engine.Loading() {
		return nil // busy with a program; the workers forward meanwhile
	}
	if _, err := a.sampler.Read(ctx); err != nil && !errors.Is(err, control.ErrNotAsked) {
		return fmt.Errorf("engine: %w", err)
	}
	if before, now := a.sampler.Last(); now != nil && !engine.Advanced(before, now) {
		return errors.New("engine: a core has stopped polling")
	}
	return nil
}

// ready does not ask whether it is the program that is wanted, which is a condition's matter: a pod that goes on with the last
// good one forwards packets.
func (a *Agent) ready(context.Context) error {
	s := a.see()
	switch {
	case s.Draining:
		return errors.New("the pod is being drained")
	case s.State.Engine != nil:
		return fmt.Errorf("engine: %w", s.State.Engine)
	case s.State.Hash == "":
		return errors.New("no program runs")
	default:
		return nil
	}
}
