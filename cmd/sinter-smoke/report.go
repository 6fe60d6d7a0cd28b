package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// check is one thing that must be so.
type check struct {
	name string
	run  func(context.Context) error
}

// report tries each check until it holds or the context ends, and prints the outcome.
func report(ctx context.Context, checks []check, pause time.Duration, out io.Writer) error {
	failed := 0
	for _, c := range checks {
		var last error
		err := wait.PollUntilContextCancel(ctx, pause, true, func(ctx context.Context) (bool, error) {
			// A run that the context cut short tells nothing about the check.
			if err := c.run(ctx); !errors.Is(err, context.DeadlineExceeded) || last == nil {
				last = err
			}
			return last == nil, nil
		})
		switch {
		case last != nil:
			failed++
			_, _ = fmt.Fprintf(out, "FAIL  %s: %v\n", c.name, last)
		case err != nil:
			failed++
			_, _ = fmt.Fprintf(out, "FAIL  %s: no time left to try\n", c.name)
		default:
			_, _ = fmt.Fprintf(out, "ok    %s\n", c.name)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(checks))
	}
	return nil
}
