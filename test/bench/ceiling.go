package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// forwarderUntil is a program that forwards until its device has measured and a function has returned.
type forwarderUntil func(ctx context.Context, then func() error) (*deviceReport, error)

// together runs two programs at once. The one that has measured first goes on until the other has, too.
func together(ctx context.Context, runs [2]forwarderUntil) (reports [2]*deviceReport, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var measured [2]chan struct{}
	for i := range measured {
		measured[i] = make(chan struct{})
	}
	var errs [2]error
	var both sync.WaitGroup
	for i, run := range runs {
		both.Go(func() {
			reports[i], errs[i] = run(ctx, func() error {
				close(measured[i])
				select {
				case <-measured[1-i]:
				case <-ctx.Done():
				}
				return ctx.Err()
			})
			if errs[i] != nil {
				cancel()
			}
		})
	}
	both.Wait()
	return reports, errors.Join(errs[0], errs[1])
}

// Seconds that programs which run at once warm up and measure: they do not start at the same time to the millisecond.
const (
	warmSeconds     = 0.4
	measuredSeconds = 1.0
)

// forSeconds is the same frames for as long, at a number of packets per second.
func (r replay) forSeconds(pps float64) replay {
	r.warmup, r.measured = max(r.warmup, int(warmSeconds*pps)), max(r.measured, int(measuredSeconds*pps))
	return r
}

// ceiling is what two testpmd, a core each, forward at once, as a multiple of what one does alone. CPUs that are hyper-threads of one core, or that a host lends
// to others as well, give less than 2.
func ceiling(ctx context.Context, dir string, q *quiet, r replay, rounds int) (*gain, error) {
	var programs [2]testpmd
	for cpu := range programs {
		programs[cpu] = testpmd{cpu, 1 - cpu, filepath.Join(dir, fmt.Sprintf("testpmd-%d", cpu))}
		if err := os.MkdirAll(programs[cpu].scratch, 0o755); err != nil {
			return nil, err
		}
	}
	first, err := programs[0].run(ctx, q.beside(r), "5tswap")
	if err != nil {
		return nil, err
	}
	q.learn(first)
	r = q.beside(r.forSeconds(first.pps()))
	var g gain
	for range rounds {
		for cpu, t := range programs {
			d, err := t.run(ctx, r, "5tswap")
			if err != nil {
				return nil, err
			}
			g.alone[cpu] = append(g.alone[cpu], d.pps())
		}
		var runs [2]forwarderUntil
		for cpu, t := range programs {
			runs[cpu] = func(ctx context.Context, then func() error) (*deviceReport, error) {
				return t.runUntil(ctx, r, "5tswap", then)
			}
		}
		d, err := together(ctx, runs)
		if err != nil {
			return nil, fmt.Errorf("two testpmd: %w", err)
		}
		g.two = append(g.two, d[0].pps()+d[1].pps())
	}
	return &g, nil
}

// siblings tells which CPUs the system says are one core with CPU 0. A virtual machine's need not know.
func siblings() string {
	list, err := os.ReadFile("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list")
	if err != nil {
		return "unknown: " + err.Error()
	}
	return strings.TrimSpace(string(list))
}
