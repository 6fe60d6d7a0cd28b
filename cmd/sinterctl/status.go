package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/cluster"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/live"
)

const (
	// refresh is how often a watched status is refreshed.
	refresh = 2 * time.Second
	// poll is how often chains are read that are waited for.
	poll = time.Second
)

// statusFlags are those of status, beside the cluster's.
type statusFlags struct {
	watch, wait, everywhere bool
	timeout                 time.Duration
	output                  *choice
}

func newStatus() *cobra.Command {
	f := statusFlags{output: oneOf("table", "wide", "json", "yaml")}
	cmd := &cobra.Command{
		Use:   "status [<chain>]",
		Short: "Show chains, their instances, cores, load and conditions",
		Long: `Status shows a chain, or all chains of the namespace. With --wait it first waits until they are Ready for
their newest specs, says on standard error what it waits for, and fails if that takes longer than --timeout.`,
		Example: `  kubectl sinter status edge --wait --timeout 2m
  kubectl sinter status -A -o json | jq -r '.[] | select(.ready | not) | .name'`,
		Args: f.validate,
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.watch, "watch", "w", false, fmt.Sprintf("refresh it every %s", refresh))
	flags.BoolVar(&f.wait, "wait", false, "wait until the chains are Ready for their newest specs")
	flags.DurationVar(&f.timeout, "timeout", 5*time.Minute, "wait no longer than this time")
	flags.BoolVarP(&f.everywhere, "all-namespaces", "A", false, "the chains of all namespaces")
	flags.VarP(f.output, "output", "o", "what to print")
	cmd.MarkFlagsMutuallyExclusive("wait", "watch")
	onCluster(cmd, func(ctx context.Context, c *cluster.Cluster, w io.Writer, args []string) error {
		name := strings.Join(args, "")
		if f.everywhere {
			c.Namespace = ""
		}
		if f.wait {
			if err := f.await(ctx, c, name, cmd.ErrOrStderr()); err != nil {
				return err
			}
		}
		status := func(w io.Writer) error { return f.show(ctx, c, name, w) }
		if !f.watch {
			return status(w)
		}
		ticker := time.NewTicker(refresh)
		defer ticker.Stop()
		return cluster.Watch(ctx, ticker.C, status, page(w))
	})
	return cmd
}

// validate refuses arguments and flags that do not fit together.
func (f *statusFlags) validate(cmd *cobra.Command, args []string) error {
	switch {
	case f.everywhere && len(args) > 0:
		return errors.New("-A shows all chains; leave the chain's name out, or give its namespace by -n")
	case f.watch && f.output.value != "table" && f.output.value != "wide":
		return fmt.Errorf("--watch refreshes a page for people; want -o table or wide with it, not %s", f.output)
	case !f.wait && cmd.Flags().Changed("timeout"):
		return errors.New("--timeout is for --wait, which is missing")
	case f.timeout <= 0:
		return fmt.Errorf("--timeout %s: want a time above zero", f.timeout)
	}
	return argsBetween(0, 1)(cmd, args)
}

func (f *statusFlags) await(ctx context.Context, c *cluster.Cluster, name string, stderr io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	return c.Wait(ctx, ticker.C, name, func(line string) { fmt.Fprintln(stderr, line) })
}

func (f *statusFlags) show(ctx context.Context, c *cluster.Cluster, name string, w io.Writer) error {
	chains, err := c.Status(ctx, name)
	if err != nil {
		return err
	}
	return f.output.print(w, chains, func(w io.Writer) error { return c.StatusText(w, chains, f.output.value == "wide") })
}

// page shows a text in place of the one before on a terminal, else below it.
func page(w io.Writer) func([]byte) error {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		size := func() (int, int) {
			width, height, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 0, 0
			}
			return width, height
		}
		screen := live.Screen{W: w, Size: size}
		return func(text []byte) error {
			width, _ := size()
			return screen.Draw(clip(text, width))
		}
	}
	return func(text []byte) error {
		_, err := fmt.Fprintf(w, "%s\n", text)
		return err
	}
}

// clip cuts lines off at a width; 0: not known.
func clip(text []byte, width int) []byte {
	if width == 0 {
		return text
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if r := []rune(line); len(r) > width {
			lines[i] = string(r[:width-1]) + "…"
		}
	}
	return []byte(strings.Join(lines, "\n"))
}
