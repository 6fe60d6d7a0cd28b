package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func TestTheOperatorWaitsForTheAPIServer(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"major": "1", "minor": "37"}`))
	}))
	defer server.Close()
	if err := await(t.Context(), &rest.Config{Host: server.URL}); err != nil || asked.Load() != 2 {
		t.Errorf("%v after %d attempts, wanted success after 2", err, asked.Load())
	}
}

func TestWaitingForTheAPIServerEndsWithTheOperator(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := await(ctx, &rest.Config{Host: "http://127.0.0.1:1"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, wanted the context's end", err)
	}
}
