package main

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/cluster"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/runner"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// completionTimeout bounds how long a shell waits for a cluster.
const completionTimeout = 3 * time.Second

// values completes from a list. What cannot be found out is not offered: a shell has no place for errors.
func values(list func(cmd *cobra.Command, args []string) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []string
		for _, v := range list(cmd, args) {
			if strings.HasPrefix(v, begun) {
				out = append(out, v)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// fixed completes from values that do not depend on anything.
func fixed(list ...string) cobra.CompletionFunc {
	return values(func(*cobra.Command, []string) []string { return list })
}

// complete tells shells the values of all flags and arguments that have some, of a command and those below it.
func complete(cmd *cobra.Command) {
	for name, f := range map[string]cobra.CompletionFunc{
		"chain":     values(chainNames),
		"in":        values(interfaces),
		"bind":      devices(values(interfaces)),
		"class":     segmentClasses(running),
		"drop":      reasons(running),
		"proto":     fixed("tcp", "udp", "icmp"),
		"tcp-flags": fixed("SYN", "ACK", "FIN", "RST", "PSH", "URG", "ECE", "CWR"),
	} {
		if cmd.LocalNonPersistentFlags().Lookup(name) != nil {
			register(cmd, name, f)
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if c, ok := f.Value.(*choice); ok {
			register(cmd, f.Name, fixed(c.values...))
		}
	})
	if strings.Contains(cmd.Use, files) {
		cmd.ValidArgsFunction = manifests
	}
	for _, c := range cmd.Commands() {
		complete(c)
	}
}

// register keeps a command's own completion.
func register(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if _, own := cmd.GetFlagCompletionFunc(flag); own {
		return
	}
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // the flag is there, and has none
	}
}

// manifests are the files that commands read; shells offer folders, too.
func manifests(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []string{"yaml", "yml", "click"}, cobra.ShellCompDirectiveFilterFileExt
}

// devices leaves the cursor behind "inside=", where the device is to be written.
func devices(f cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if name, device, ok := strings.Cut(begun, "="); ok {
			return kernelInterfaces(name+"=", device), cobra.ShellCompDirectiveNoFileComp
		}
		names, _ := f(cmd, args, begun)
		for i := range names {
			names[i] += "="
		}
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

func kernelInterfaces(before, begun string) (out []string) {
	entries, _ := os.ReadDir("/sys/class/net")
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), begun) && e.Name() != "lo" {
			out = append(out, before+e.Name())
		}
	}
	return out
}

func input(cmd *cobra.Command, args []string) compile.Input {
	in := compile.Input{Paths: args}
	in.Chain, _ = cmd.Flags().GetString("chain")
	in.FilesBelow, _ = cmd.Flags().GetStringArray("files-below")
	return in
}

func chainNames(cmd *cobra.Command, args []string) []string {
	names, _ := compile.Names(input(cmd, args))
	return names
}

func interfaces(cmd *cobra.Command, args []string) []string {
	names, _ := compile.Interfaces(input(cmd, args))
	return names
}

// programOf finds the program that a command is about; nil: it is not known.
type programOf func(cmd *cobra.Command, args []string) *programpb.Program

// running is the program that an engine has, as sinterctl keeps it beside the engine's socket.
func running(cmd *cobra.Command, _ []string) *programpb.Program {
	socket, _ := cmd.Flags().GetString("socket")
	return runner.LastProgram(socket)
}

// segmentClasses completes "<segment>:<class>", the segment first.
func segmentClasses(of programOf) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		for _, s := range of(cmd, args).GetSegments() {
			if strings.HasPrefix(s.GetName(), begun) {
				out = append(out, s.GetName())
			}
			if number, ok := strings.CutPrefix(begun, s.GetName()+":"); ok {
				for i := range s.GetClasses() {
					if class := strconv.Itoa(i); strings.HasPrefix(class, number) {
						out = append(out, s.GetName()+":"+class)
					}
				}
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// reasons completes those that packets are dropped for: the chain's, and the engine's own.
func reasons(of programOf) cobra.CompletionFunc {
	return values(func(cmd *cobra.Command, args []string) []string {
		list := of(cmd, args).GetReasons()
		for r := range programpb.DropReason_name {
			if r != int32(programpb.DropReason_DROP_NONE) {
				list = append(list, program.BuiltinReason(programpb.DropReason(r)))
			}
		}
		return slices.Sorted(slices.Values(list))
	})
}

// asked is what a cluster answers in time; else nothing.
func asked[T any](cmd *cobra.Command, f *cluster.Flags, ask func(ctx context.Context, c *cluster.Cluster) T) (nothing T) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	found := make(chan T, 1)
	go func() { // not all that a client does before its first request ends with a context
		var out T
		if c, err := f.Connect(); err == nil {
			out = ask(ctx, c)
		}
		found <- out
	}()
	select {
	case out := <-found:
		return out
	case <-ctx.Done():
		return nothing
	}
}

// ofCluster completes from what a cluster has.
func ofCluster(f *cluster.Flags, list func(ctx context.Context, c *cluster.Cluster, args []string) []string) cobra.CompletionFunc {
	return values(func(cmd *cobra.Command, args []string) []string {
		return asked(cmd, f, func(ctx context.Context, c *cluster.Cluster) []string { return list(ctx, c, args) })
	})
}

// ofChain completes the flags that name something of the chain, which is a command's last argument.
func ofChain(cmd *cobra.Command, f *cluster.Flags) {
	program := func(cmd *cobra.Command, args []string) *programpb.Program {
		return asked(cmd, f, func(ctx context.Context, c *cluster.Cluster) *programpb.Program { return c.Running(ctx, last(args)) })
	}
	for flag, complete := range map[string]cobra.CompletionFunc{
		"instance": ofCluster(f, func(ctx context.Context, c *cluster.Cluster, args []string) []string {
			return c.InstanceNames(ctx, last(args))
		}),
		"class": segmentClasses(program),
		"drop":  reasons(program),
	} {
		if cmd.Flags().Lookup(flag) != nil {
			register(cmd, flag, complete)
		}
	}
}

// last is the last of some arguments; empty: there is none.
func last(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[len(args)-1]
}

// addClusterFlags adds the flags that choose a cluster, and completes their values.
func addClusterFlags(cmd *cobra.Command, f *cluster.Flags) {
	f.Add(cmd.Flags())
	register(cmd, "context", values(func(*cobra.Command, []string) []string { return f.Contexts() }))
	register(cmd, "namespace", ofCluster(f, func(ctx context.Context, c *cluster.Cluster, _ []string) []string {
		return c.Namespaces(ctx)
	}))
}

// chainFirst completes a command's first argument, a chain of the cluster, and those behind it, so many revisions of the chain.
func chainFirst(f *cluster.Flags, revisions int) cobra.CompletionFunc {
	return ofCluster(f, func(ctx context.Context, c *cluster.Cluster, args []string) []string {
		switch {
		case len(args) == 0:
			return c.ChainNames(ctx)
		case len(args) <= revisions:
			return c.Revisions(ctx, args[0])
		}
		return nil
	})
}

// after completes the first argument from values, and those behind it by a function that does not see it.
func after(first []string, rest cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return fixed(first...)(cmd, args, begun)
		}
		return rest(cmd, args[1:], begun)
	}
}
