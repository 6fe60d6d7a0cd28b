package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Whoever tries the cluster gets the machine back as it was.
func TestTakingTheClusterDownLeavesNothing(t *testing.T) {
	if os.Getenv("SINTER_E2E_LEFTOVERS") == "" {
		t.Skip("needs a machine without the cluster: run by make e2e if none is up")
	}
	if _, err := os.Stat("/srv/sinter-cluster"); err == nil {
		t.Fatal("the cluster is up: make cluster-down first")
	}
	before := traces(t)
	cluster(t, "up")
	// Something that plugins, runtime and kubelet have to clean up after.
	for _, args := range [][]string{
		{"hack/cluster/program.sh", "sinter.test/traffic:1", "./test/e2e/traffic"},
		{"kubectl", "apply", "-f", "config/samples/networks", "-f", "test/e2e/testdata/hosts.yaml"},
		{"kubectl", "wait", "--for=condition=Ready", "pod/client", "pod/server", "--timeout=60s"},
	} {
		if out, err := run(t.Context(), "", args[0], args[1:]...); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	cluster(t, "down")
	after := traces(t)
	for name := range before {
		for _, line := range after[name] {
			if !slices.Contains(before[name], line) {
				t.Errorf("%s: %q was not there before", name, line)
			}
		}
		for _, line := range before[name] {
			if !slices.Contains(after[name], line) {
				t.Errorf("%s: %q is gone", name, line)
			}
		}
	}
}

func cluster(t *testing.T, what string) {
	t.Helper()
	if out, err := run(t.Context(), "", "hack/cluster/cluster.sh", what); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// Noise of the machine's own, or of others who work on it meanwhile.
var (
	restless = regexp.MustCompile(`random|nr_inodes|inode-|inode_state|dentry-state|file-nr|ns_last_pid|pty\.nr|aio-nr|quota\.syncs|sched_domain|conntrack_count|netdev_rss_key|keys\.|nr_hugepages_mempolicy`)
	ours     = regexp.MustCompile(`sinter-cluster|cni|kube|containerd|multus|etcd|/inside|/outside`)
)

// traces is what a cluster could leave, by kind, line by line.
func traces(t *testing.T) map[string][]string {
	t.Helper()
	lines := func(name string, args ...string) []string {
		out, err := exec.Command(name, args...).Output()
		if err != nil {
			t.Logf("%s %v: %v", name, args, err) // not installed: nothing of it
		}
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	found := map[string][]string{
		"sysctl":      slices.DeleteFunc(lines("sysctl", "-a"), restless.MatchString),
		"packet rule": lines("nft", "list", "ruleset"),
		"route":       lines("ip", "route"),
		"mount":       slices.DeleteFunc(lines("cat", "/proc/mounts"), func(line string) bool { return !ours.MatchString(line) && !strings.Contains(line, "cgroup") }),
		"process": slices.DeleteFunc(lines("ps", "-eo", "args"), func(line string) bool {
			return !ours.MatchString(line) || !strings.Contains(line, "/.cache/sinter/cluster-")
		}),
	}
	for name, patterns := range map[string][]string{
		"namespace": {"/run/netns/*"},
		"interface": {"/sys/class/net/*"},
		"cgroup":    {"/sys/fs/cgroup/*", "/sys/fs/cgroup/*/*", "/sys/fs/cgroup/*/*/*"},
		"file":      {"/srv/*", "/etc/*", "/opt/*", "/run/*", "/var/lib/*", "/var/log/*", "/var/run/*", "/root/.kube*", "/dev/*"},
	} {
		for _, pattern := range patterns {
			paths, err := filepath.Glob(pattern)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range paths {
				if info, err := os.Stat(path); err == nil && (name != "cgroup" || info.IsDir()) {
					found[name] = append(found[name], path)
				}
			}
		}
	}
	return found
}
