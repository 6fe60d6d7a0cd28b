package main

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestTheFirstThatHasMeasuredGoesOnUntilTheOtherHas(t *testing.T) {
	begun, order := make(chan struct{}), make(chan string, 4)
	got, err := together(t.Context(), [2]forwarderUntil{
		func(_ context.Context, then func() error) (*deviceReport, error) {
			close(begun)
			err := then()
			order <- "first ends"
			return &deviceReport{Received: 1}, err
		},
		func(_ context.Context, then func() error) (*deviceReport, error) {
			<-begun
			order <- "second measures"
			return &deviceReport{Received: 2}, then()
		},
	})
	if err != nil || got[0].Received != 1 || got[1].Received != 2 {
		t.Fatalf("reports %v, %v", got, err)
	}
	if a, b := <-order, <-order; a != "second measures" || b != "first ends" {
		t.Errorf("%s, then %s", a, b)
	}
}

func TestOneThatFailsEndsTheOther(t *testing.T) {
	_, err := together(t.Context(), [2]forwarderUntil{
		func(_ context.Context, then func() error) (*deviceReport, error) { return nil, then() },
		func(context.Context, func() error) (*deviceReport, error) { return nil, errors.New("no memory") },
	})
	if err == nil || !strings.Contains(err.Error(), "no memory") {
		t.Errorf("%v: want the reason", err)
	}
}

func TestARowOfTwoCoresTellsOfTheBestRoundsAndOfTheMachine(t *testing.T) {
	for _, c := range []struct {
		gain gain
		want string
	}{
		{
			gain{alone: [2]samples{{9e6, 5e6}, {8e6, 11e6}}, two: samples{17e6, 18e6}, apart: samples{19.5e6, 10e6}, busy: 1},
			"| x | 10.00 Mpps | 18.00 Mpps | 1.80 | 2.00–2.25 | 1.95 | missed by 4.8 %; 1 of 2 rounds busy |", // 0.97 of 1.95 is 1.89
		},
		{gain{alone: [2]samples{{10e6}, {10e6}}, two: samples{18e6}, apart: samples{18.5e6}}, "| x | 10.00 Mpps | 18.00 Mpps | 1.80 | 1.80–1.80 | 1.85 | met |"},
		{gain{alone: [2]samples{{10e6}, {10e6}}, two: samples{18e6}}, "| x | 10.00 Mpps | 18.00 Mpps | 1.80 | 1.80–1.80 | – | missed by 5.3 % |"},
		{gain{alone: [2]samples{{10e6}, {10e6}}, two: samples{20e6}}, "| x | 10.00 Mpps | 20.00 Mpps | 2.00 | 2.00–2.00 | – | met |"},
	} {
		if got := c.gain.line("x"); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}
