// Package queue gives compiles their turns: few at a time, and one of a namespace. So what compiles take together has a bound, and whoever has many or
// large chains keeps nobody else's waiting.
package queue

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
)

// Queue gives turns to namespaces by turns. It is for concurrent use. A nil Queue lets everybody go on at once.
type Queue struct {
	mu   sync.Mutex
	all  int
	free int
	busy map[string]int // turns that a namespace has
	// waiting are those of a namespace, and order the namespaces, in the order in which they are served.
	waiting map[string][]waiter
	order   []string
}

type waiter struct {
	turn  chan struct{} // closed when it has come
	turns int
}

// New is a queue with room for so many turns at a time.
func New(turns int) *Queue {
	return &Queue{all: turns, free: turns, busy: map[string]int{}, waiting: map[string][]waiter{}}
}

// Whole is more turns than a queue has: what takes it runs alone.
const Whole = math.MaxInt

// Take waits until so many turns are free, or all, and it is the namespace's turn to have them. Call release when they are over. The error is the
// context's.
func (q *Queue) Take(ctx context.Context, namespace string, turns int) (release func(), err error) {
	if q == nil {
		return func() {}, nil
	}
	turn := q.enter(namespace, min(turns, q.all))
	select {
	case <-turn:
	case <-ctx.Done():
		q.leave(namespace, turn)
		return func() {}, fmt.Errorf("wait for a turn to compile: %w", ctx.Err())
	}
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.end(namespace)
	}), nil
}

// enter is closed when it is the caller's turn.
func (q *Queue) enter(namespace string, turns int) chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	turn := make(chan struct{})
	if len(q.waiting[namespace]) == 0 {
		q.order = append(q.order, namespace)
	}
	q.waiting[namespace] = append(q.waiting[namespace], waiter{turn, turns})
	q.next()
	return turn
}

// leave takes back what enter gave.
func (q *Queue) leave(namespace string, turn chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.IndexFunc(q.waiting[namespace], func(w waiter) bool { return w.turn == turn })
	if at < 0 { // the turn came meanwhile
		q.end(namespace)
		return
	}
	if q.waiting[namespace] = slices.Delete(q.waiting[namespace], at, at+1); len(q.waiting[namespace]) == 0 {
		q.drop(namespace)
	}
	q.next() // others may have waited behind it
}

func (q *Queue) drop(namespace string) {
	delete(q.waiting, namespace)
	q.order = slices.DeleteFunc(q.order, func(n string) bool { return n == namespace })
}

func (q *Queue) end(namespace string) {
	q.free += q.busy[namespace]
	delete(q.busy, namespace)
	q.next()
}

// next gives the turns that are free. A namespace that has had its turn is served after all others. One that needs more turns than are free is not
// overtaken by those that came later, or it would wait for ever.
func (q *Queue) next() {
	for {
		at := slices.IndexFunc(q.order, func(n string) bool { return q.busy[n] == 0 })
		if at < 0 || q.waiting[q.order[at]][0].turns > q.free {
			return
		}
		namespace := q.order[at]
		first, rest := q.waiting[namespace][0], q.waiting[namespace][1:]
		q.drop(namespace)
		if len(rest) > 0 {
			q.waiting[namespace], q.order = rest, append(q.order, namespace)
		}
		q.free -= first.turns
		q.busy[namespace] = first.turns
		close(first.turn)
	}
}
