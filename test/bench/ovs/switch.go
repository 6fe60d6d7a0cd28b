// Package ovs measures Open vSwitch's userspace datapath: one thread polls one DPDK device and sends packets back by it.
package ovs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Config is a switch.
type Config struct {
	Folder        string // of the unpacked packages, as hack/ovs.sh makes it
	Scratch       string // for its database and sockets; it is emptied
	Plugin        string // libsinter-replay.so
	Core, Control int    // of the polling thread, and of all others
	Flows         string // OpenFlow, a line each
	Start         func(*exec.Cmd) error
}

// Switch is a running one.
type Switch struct {
	config   Config
	programs []*exec.Cmd
}

// socketMemory in MiB is what DPDK gets at the start.
const socketMemory = "1024"

// startLimit is how long a daemon takes to answer at most.
const startLimit = 30 * time.Second

// Open starts the daemons and installs the flows.
func Open(ctx context.Context, c Config) (_ *Switch, err error) {
	s := &Switch{config: c}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if err := errors.Join(os.RemoveAll(c.Scratch), os.MkdirAll(c.Scratch, 0o755)); err != nil {
		return nil, err
	}
	db := s.file("conf.db")
	if _, err := s.tool(ctx, "bin/ovsdb-tool", "create", db, filepath.Join(c.Folder, "usr/share/openvswitch/vswitch.ovsschema")); err != nil {
		return nil, err
	}
	if err := s.daemon(ctx, "sbin/ovsdb-server", db, "--remote=punix:"+s.file("db.sock"), "--unixctl="+s.file("db.ctl")); err != nil {
		return nil, err
	}
	if err := s.vsctl(ctx, "--no-wait", "init", "--", "set", "Open_vSwitch", ".", "other_config:dpdk-init=true",
		fmt.Sprintf("other_config:pmd-cpu-mask=0x%x", 1<<c.Core), fmt.Sprintf("other_config:dpdk-lcore-mask=0x%x", 1<<c.Control),
		"other_config:dpdk-socket-mem="+socketMemory, "other_config:dpdk-extra=--no-pci --no-telemetry --force-max-simd-bitwidth=512 -d "+c.Plugin); err != nil {
		return nil, err
	}
	if err := s.daemon(ctx, "lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk", "unix:"+s.file("db.sock"), "--unixctl="+s.file("vs.ctl"), "--log-file="+s.file("vs.log")); err != nil {
		return nil, err
	}
	if err := s.vsctl(ctx, "add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev", "fail-mode=secure"); err != nil {
		return nil, err
	}
	flows := s.file("flows")
	if err := os.WriteFile(flows, []byte(c.Flows), 0o644); err != nil {
		return nil, err
	}
	_, err = s.tool(ctx, "bin/ovs-ofctl", "add-flows", s.file("br0.mgmt"), flows)
	return s, err
}

func (s *Switch) file(name string) string { return filepath.Join(s.config.Scratch, name) }

// Measure gives the switch a replay device until it has written its report, and takes it away again: without a device nothing is polled.
func (s *Switch) Measure(ctx context.Context, device, report string) error {
	_ = os.Remove(report)
	if err := s.vsctl(ctx, "add-port", "br0", "replay", "--", "set", "Interface", "replay", "type=dpdk", fmt.Sprintf("options:dpdk-devargs=%q", device)); err != nil {
		return err
	}
	var err error
	for err == nil {
		if _, e := os.Stat(report); e == nil {
			break
		}
		select {
		case <-ctx.Done():
			err = fmt.Errorf("the device has not measured yet: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return errors.Join(err, s.vsctl(context.WithoutCancel(ctx), "del-port", "br0", "replay"))
}

// Connections is how many the switch tracks.
func (s *Switch) Connections(ctx context.Context) (n int, err error) {
	out, err := s.tool(ctx, "bin/ovs-appctl", "--target="+s.file("vs.ctl"), "dpctl/ct-get-nconns")
	if err == nil {
		_, err = fmt.Sscan(out, &n)
	}
	return n, err
}

// Forget ends all connections.
func (s *Switch) Forget(ctx context.Context) error {
	_, err := s.tool(ctx, "bin/ovs-appctl", "--target="+s.file("vs.ctl"), "dpctl/flush-conntrack")
	return err
}

// Close ends the daemons, the database last.
func (s *Switch) Close() {
	for i := len(s.programs) - 1; i >= 0; i-- {
		_ = s.programs[i].Process.Kill()
		_ = s.programs[i].Wait()
	}
	_ = os.RemoveAll(s.config.Scratch)
}

func (s *Switch) vsctl(ctx context.Context, args ...string) error {
	out, err := s.tool(ctx, "bin/ovs-vsctl", append([]string{"--db=unix:" + s.file("db.sock"), "--timeout=60"}, args...)...)
	if err == nil && strings.Contains(out, "Error detected") { // it ends well all the same
		err = errors.New(strings.TrimSpace(out))
	}
	return err
}

// command prepares a program of the packages; it uses no folder of the system.
func (s *Switch) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.config.Folder, "usr", name), args...)
	cmd.Env = append(os.Environ(), "OVS_PKGDATADIR="+filepath.Join(s.config.Folder, "usr/share/openvswitch"))
	for _, name := range []string{"OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"} {
		cmd.Env = append(cmd.Env, name+"="+s.config.Scratch)
	}
	return cmd
}

func (s *Switch) tool(ctx context.Context, name string, args ...string) (string, error) {
	out, err := s.command(ctx, name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(name), err, bytes.TrimSpace(out))
	}
	return string(out), nil
}

// daemon starts a program that stays, and waits until it answers.
func (s *Switch) daemon(ctx context.Context, name string, args ...string) error {
	cmd := s.command(context.WithoutCancel(ctx), name, args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := s.config.Start(cmd); err != nil {
		return err
	}
	s.programs = append(s.programs, cmd)
	socket := strings.TrimPrefix(args[len(args)-1], "--unixctl=")
	for _, a := range args {
		if rest, ok := strings.CutPrefix(a, "--unixctl="); ok {
			socket = rest
		}
	}
	for end := time.Now().Add(startLimit); ; time.Sleep(20 * time.Millisecond) {
		out, err := s.tool(ctx, "bin/ovs-appctl", "--timeout=5", "--target="+socket, "version")
		if err == nil {
			return nil
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return fmt.Errorf("%s does not answer: %w: %s", filepath.Base(name), err, out)
		}
	}
}
