package main

import (
	"context"
	"math"
	"strings"
	"testing"
)

func TestLatencyIsMeasuredInTurnAtPartsOfEachOnesHighestRate(t *testing.T) {
	var asked []string
	forward := func(name string, cycles float64) forwarder {
		pass := 0.0
		return func(_ context.Context, r replay) (*deviceReport, error) {
			asked = append(asked, name)
			d := &deviceReport{Hz: 1e9, Received: 99, Missed: 1}
			d.Cycles.P50 = cycles
			if r.rate != maxRate {
				if want := 1e9 / cycles; float64(r.rate) > 0.96*want {
					t.Errorf("%s: %d packets per second, the highest is %.0f", name, r.rate, want)
				}
				pass++
				d.Latency = quantiles{P50: 1000 * pass, P90: 2000, P99: 3000, P999: 4000, P9999: 5000}
			}
			return d, nil
		}
	}
	lists, err := latencyOf(t.Context(), []forwarder{forward("a", 100), forward("b", 50)}, replay{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(asked, ""), strings.Repeat("ab", 3*(1+len(loads))); got != want {
		t.Errorf("ran %s, want %s", got, want)
	}
	l := lists[1][0]
	if math.Abs(l.pps-20e6) > 1 {
		t.Errorf("the highest rate is %.0f, want 20 million", l.pps)
	}
	if got, want := l.line("b"), "| b | 10 % | 2.00 | 2.0 (1.0–3.0) | 2.0 (2.0–2.0) | 3.0 (3.0–3.0) | 4.0 (4.0–4.0) | 5.0 (5.0–5.0) | 1.000 % |"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
