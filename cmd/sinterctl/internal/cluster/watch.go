package cluster

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// Watch shows something at once and at every tick, until the context ends. A failure is
// shown in its place: the next tick may see the API server again.
func Watch(ctx context.Context, tick <-chan time.Time, make func(io.Writer) error, show func(text []byte) error) error {
	for {
		var b strings.Builder
		if err := make(&b); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			fmt.Fprintf(&b, "error: %v\n", err)
		}
		if err := show([]byte(b.String())); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
	}
}
