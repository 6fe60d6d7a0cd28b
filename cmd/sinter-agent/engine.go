package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"k8s.io/utils/clock"

	"github.com/sinter-nfv/sinter/dataplane/agent/lifecycle"
	"github.com/sinter-nfv/sinter/dataplane/binding"
)

// binder finds out what to start an engine with.
type binder struct {
	interfaces    []string
	workers       int
	networkStatus string
	patience      time.Duration
}

func (b *binder) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&b.interfaces, "interface", nil,
		"an interface of the chain and what is known of its device: NAME[,network=NS/NAME][,resource=R][,claim=C][,driver=VFIO|AFXDP|AFPacket][,device=D]")
	flags.IntVar(&b.workers, "workers", 0, "worker cores (default: all CPUs of the container)")
	flags.StringVar(&b.networkStatus, "network-status", "", "file with the annotation k8s.v1.cni.cncf.io/network-status (downward API)")
	flags.DurationVar(&b.patience, "network-status-timeout", 3*time.Minute, "how long kubelet may take to fill that file")
}

// plan waits for what Multus has to say, and decides.
func (b *binder) plan(ctx context.Context) (*binding.Plan, error) {
	interfaces := make([]binding.Interface, len(b.interfaces))
	for i, text := range b.interfaces {
		var err error
		if interfaces[i], err = binding.ParseInterface(text); err != nil {
			return nil, err
		}
	}
	if len(interfaces) == 0 {
		return nil, errors.New("--interface: want one for each interface of the chain")
	}
	cpus, err := affinity()
	if err != nil {
		return nil, err
	}
	grant := binding.Grant{CPUs: cpus, Env: environment(), Sys: os.DirFS("/sys")}
	for deadline := time.Now().Add(b.patience); b.networkStatus != ""; {
		text, err := os.ReadFile(b.networkStatus)
		if err != nil {
			return nil, fmt.Errorf("--network-status: %w", err)
		}
		if grant.Networks, err = binding.ParseNetworkStatus(text); err != nil {
			return nil, err
		}
		if len(binding.Waiting(interfaces, grant)) == 0 || time.Now().After(deadline) {
			break // what is still missing the decision will name
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
	return binding.Make(interfaces, b.workers, grant)
}

// affinity is the CPUs that kubelet granted: the cpuset as the kernel enforces it.
func affinity() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("CPUs that the engine may use: %w", err)
	}
	var cpus []int
	for cpu := range len(set) * strconv.IntSize {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

func environment() map[string]string {
	env := map[string]string{}
	for _, e := range os.Environ() {
		name, value, _ := strings.Cut(e, "=")
		env[name] = value
	}
	return env
}

func newBind() *cobra.Command {
	var b binder
	cmd := &cobra.Command{
		Use:   "bind",
		Short: "Print the engine's flags for the devices of this container",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			plan, err := b.plan(cmd.Context())
			if err != nil {
				return err
			}
			for _, note := range append(plan.Notes, plan.Remote...) {
				fmt.Fprintln(cmd.ErrOrStderr(), note)
			}
			fmt.Fprintln(cmd.OutOrStdout(), strings.Join(plan.Args(), " "))
			return nil
		},
	}
	b.flags(cmd)
	return cmd
}

func newExecEngine(dir func() folder) *cobra.Command {
	var b binder
	cmd := &cobra.Command{
		Use:   "exec-engine [flags] -- sinter-engine [flags] [-- EAL arguments]",
		Short: "Start the engine in this process, on the devices of this container",
		Long: `Assigns a device to each interface of the chain and a CPU to each worker, writes this to a file for the agent, and
executes the engine in this process: signals reach the engine, and kubelet sees its exit status.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, err := b.plan(cmd.Context())
			if err != nil {
				return err
			}
			path, err := exec.LookPath(args[0])
			if err != nil {
				return fmt.Errorf("engine: %w", err)
			}
			if err := lifecycle.WriteBinding(dir().binding(), plan); err != nil {
				return err
			}
			if err := lifecycle.Undrain(dir().draining()); err != nil {
				return err
			}
			argv := append([]string{args[0], "--socket", dir().socket()}, plan.Args()...)
			return fmt.Errorf("engine %s: %w", path, syscall.Exec(path, append(argv, args[1:]...), os.Environ()))
		},
	}
	b.flags(cmd)
	return cmd
}

func newDrain(dir func() folder) *cobra.Command {
	d := lifecycle.Drain{Clock: clock.RealClock{}}
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "Announce that this pod terminates, and wait until no more packets arrive",
		Long: `A preStop hook for both containers. The agent reports the pod as not ready; the engine forwards until no packet has left for a while, or the limit
is reached. The pod's grace period must be longer than the limit.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.Socket, d.Marker = dir().socket(), dir().draining()
			how, err := d.Run(cmd.Context())
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), how)
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&d.Quiet, "quiet", 2*time.Second, "time without a packet after which the pod may end")
	cmd.Flags().DurationVar(&d.Limit, "limit", 20*time.Second, "time after which the pod ends in any case")
	return cmd
}

func newProbe(dir func() folder) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "probe",
		Short: "Check that the engine answers and its cores poll",
		Long:  `A liveness probe for the engine's container. It asks the engine itself, so that an agent that is down does not take the engine with it.`,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			yieldCPU()
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return lifecycle.Probe(ctx, dir().socket())
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Second, "time within which the engine must answer")
	return cmd
}

// yieldCPU lets the engine's workers, on whose CPUs the probe runs, go first. A failure costs them some microseconds.
func yieldCPU() {
	threads, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		return
	}
	for _, thread := range threads {
		if id, err := strconv.Atoi(filepath.Base(thread)); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, 19)
		}
	}
}
