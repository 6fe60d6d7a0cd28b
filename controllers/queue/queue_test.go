package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/controllers/queue"
)

// served is the order in which compiles of namespaces begin that come at once, each of which takes a second, and when the last ends. Those of a namespace
// in capital letters run alone.
func served(t *testing.T, turns int, namespaces ...string) (order []string, took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		q := queue.New(turns)
		began := time.Now()
		var mu sync.Mutex
		var all sync.WaitGroup
		for _, n := range namespaces {
			all.Go(func() {
				need := 1
				if n < "a" {
					need = queue.Whole
				}
				release, err := q.Take(t.Context(), n, need)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, n)
				mu.Unlock()
				time.Sleep(time.Second)
				release()
				release() // once more does nothing
			})
			synctest.Wait()
		}
		all.Wait()
		took = time.Since(began)
	})
	return order, took
}

func TestTheOrderOfTurns(t *testing.T) {
	for name, c := range map[string]struct {
		turns        int
		come, served []string
		took         time.Duration
	}{
		"namespaces take turns":                  {1, []string{"a", "a", "a", "b", "b", "c"}, []string{"a", "a", "b", "c", "a", "b"}, 6 * time.Second},
		"a namespace has one turn at a time":     {2, []string{"a", "a", "a", "a", "b"}, []string{"a", "b", "a", "a", "a"}, 4 * time.Second},
		"two namespaces go side by side":         {2, []string{"a", "b", "a", "b"}, nil, 2 * time.Second},
		"who runs alone waits for all":           {2, []string{"a", "B", "c"}, []string{"a", "B", "c"}, 3 * time.Second},
		"who runs alone is not kept waiting":     {2, []string{"a", "a", "B", "c"}, []string{"a", "a", "B", "c"}, 4 * time.Second},
		"one namespace of each is served at all": {3, []string{"a", "b", "c", "d"}, []string{"a", "b", "c", "d"}, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			order, took := served(t, c.turns, c.come...)
			if c.served == nil { // they begin at the same time
				c.served = order
			}
			if !slices.Equal(order, c.served) || took != c.took {
				t.Errorf("the order is %v in %s, want %v in %s", order, took, c.served, c.took)
			}
		})
	}
}

func TestWhoGivesUpGetsNoTurnAndHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New(2)
		release, err := q.Take(t.Context(), "a", 1)
		if err != nil {
			t.Fatal(err)
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := q.Take(soon, "b", queue.Whole); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the error is %v, want that of the context", err)
			}
		})
		synctest.Wait()
		if _, err := q.Take(t.Context(), "c", 1); err != nil { // behind b, until b gives up
			t.Error(err)
		}
		release()
		if _, err := q.Take(t.Context(), "b", 1); err != nil {
			t.Error(err)
		}
		all.Wait()
	})
}

func TestWithoutAQueueNobodyWaits(t *testing.T) {
	var q *queue.Queue
	for range 3 {
		if _, err := q.Take(t.Context(), "a", queue.Whole); err != nil {
			t.Error(err)
		}
	}
}

// However compiles come and give up: there are no more than so many at a time, one of a namespace, and no turn gets lost.
func TestTurnsAreNeitherLostNorTooMany(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		turns := rapid.IntRange(1, 3).Draw(rt, "turns")
		type compile struct{ Namespace, Turns, Patience int }
		compiles := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) compile {
			return compile{rapid.IntRange(0, 3).Draw(rt, "namespace"), rapid.IntRange(1, 3).Draw(rt, "turns"), rapid.IntRange(1, 20).Draw(rt, "patience")}
		}), 1, 30).Draw(rt, "compiles")
		synctest.Test(t, func(t *testing.T) {
			q := queue.New(turns)
			var mu sync.Mutex
			var running, most int
			of := map[int]int{}
			count := func(c compile, by int) {
				mu.Lock()
				defer mu.Unlock()
				running, of[c.Namespace] = running+by*min(c.Turns, turns), of[c.Namespace]+by
				if most = max(most, running); of[c.Namespace] > 1 {
					t.Errorf("namespace %d has %d turns at a time", c.Namespace, of[c.Namespace])
				}
			}
			var all sync.WaitGroup
			for _, c := range compiles {
				all.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(c.Patience)*time.Second)
					defer cancel()
					release, err := q.Take(ctx, fmt.Sprint(c.Namespace), c.Turns)
					if err != nil {
						return
					}
					count(c, 1)
					time.Sleep(1500 * time.Millisecond)
					count(c, -1)
					release()
				})
				synctest.Wait()
			}
			all.Wait()
			if most > turns {
				t.Errorf("%d turns at a time, want %d at most", most, turns)
			}
			if _, err := q.Take(t.Context(), "other", queue.Whole); err != nil { // all are free again
				t.Error(err)
			}
		})
	})
}
