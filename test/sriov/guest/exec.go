package guest

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"time"
)

// Run runs a shell script in the guest to its end, and returns what it wrote to standard
// output. An exit code other than 0 is an error that has all that it wrote.
func (g *Guest) Run(ctx context.Context, script string) (string, error) {
	var started struct{ PID int }
	err := g.call(ctx, "guest-exec", map[string]any{
		"path": "/bin/bash", "arg": []string{"-c", script}, "capture-output": true,
	}, &started)
	if err != nil {
		return "", err
	}
	for {
		var status struct {
			Exited   bool
			ExitCode int
			Signal   int
			Out      []byte `json:"out-data"`
			Err      []byte `json:"err-data"`
		}
		if err := g.call(ctx, "guest-exec-status", map[string]int{"pid": started.PID}, &status); err != nil {
			return "", fmt.Errorf("%s\n%w", script, err)
		}
		switch {
		case !status.Exited:
		case status.ExitCode != 0 || status.Signal != 0:
			return string(status.Out), fmt.Errorf("in the guest: exit code %d, signal %d:\n%s\n%s%s",
				status.ExitCode, status.Signal, script, status.Out, status.Err)
		default:
			return string(status.Out), nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return "", fmt.Errorf("%s\n%w", script, ctx.Err())
		}
	}
}

// chunk is what goes into a file at once; the agent takes 4 MiB at most.
const chunk = 1 << 20

// Put copies a file into the guest.
func (g *Guest) Put(ctx context.Context, local, remote string) error {
	data, err := os.ReadFile(local)
	if err != nil {
		return err
	}
	info, err := os.Stat(local)
	if err != nil {
		return err
	}
	var handle int
	if err := g.call(ctx, "guest-file-open", map[string]string{"path": remote, "mode": "w"}, &handle); err != nil {
		return err
	}
	for len(data) > 0 {
		n := min(chunk, len(data))
		err := g.call(ctx, "guest-file-write", map[string]any{
			"handle": handle, "buf-b64": base64.StdEncoding.EncodeToString(data[:n]),
		}, nil)
		if err != nil {
			return err
		}
		data = data[n:]
	}
	if err := g.call(ctx, "guest-file-close", map[string]int{"handle": handle}, nil); err != nil {
		return err
	}
	_, err = g.Run(ctx, fmt.Sprintf("chmod %o %s", info.Mode().Perm(), remote))
	return err
}
