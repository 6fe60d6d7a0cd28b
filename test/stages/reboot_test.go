package stages

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Names that no cluster has.
const (
	strangeCluster = "sinter-rebooted"
	strangeState   = "/srv/" + strangeCluster
)

func TestWhatAFolderOfBeforeARebootNamesIsLeftAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: the scripts do nothing")
	}
	const pages = "/proc/sys/vm/nr_hugepages"
	for name, test := range map[string]struct{ script, state, pid string }{
		"the cluster": {"cluster/cluster.sh", strangeState, "init.pid"},
		"the guest":   {"sriov/node.sh", filepath.Join(t.TempDir(), "sriov"), "qemu.pid"},
	} {
		t.Run(name, func(t *testing.T) {
			stranger := exec.Command("sleep", "60") // that has got the PID
			if err := stranger.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- stranger.Wait() }()
			t.Cleanup(func() {
				_ = stranger.Process.Kill()
				_ = os.RemoveAll(test.state)
			})
			if err := os.Mkdir(test.state, 0o700); err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{
				"boot_id": "00000000-0000-0000-0000-000000000000", test.pid: strconv.Itoa(stranger.Process.Pid), "hugepages": "1",
			} {
				if err := os.WriteFile(filepath.Join(test.state, file), []byte(text+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			before := read(t, pages)
			script := func(arguments ...string) (string, error) {
				c := exec.Command(filepath.Join("..", "..", "hack", test.script), arguments...)
				c.Env = append(os.Environ(), "SINTER_CLUSTER="+strangeCluster, "SINTER_SRIOV="+test.state)
				out, err := c.CombinedOutput()
				return string(out), err
			}
			if test.pid == "init.pid" {
				if out, err := script("in", "true"); err == nil || !strings.Contains(out, "the cluster is not up") {
					t.Errorf("a command in the cluster ends with %v: %s", err, out)
				}
			}
			if out, err := script("down"); err != nil {
				t.Fatalf("down: %v: %s", err, out)
			}
			select {
			case err := <-ended:
				t.Errorf("the process that has the PID now was ended: %v", err)
			default:
			}
			if after := read(t, pages); test.pid == "init.pid" && !bytes.Equal(before, after) {
				t.Errorf("hugepages are %s, %s before", after, before)
			}
			if _, err := os.Stat(test.state); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the folder is still there: %v", err)
			}
		})
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(data)
}
