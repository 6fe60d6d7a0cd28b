package manifest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/manifest"
)

// naming is a folder with a chain whose firewall takes its rules from a file.
func naming(t *testing.T, file string) string {
	t.Helper()
	return folder(t, map[string]string{
		"here/chain.yaml": strings.Replace(chain, "rules/acl.csv", file, 1), "here/counters.yml": counters,
		"here/rules/acl.csv": "action,protocol\nAccept,tcp\n", "there/acl.csv": "action,protocol\nAccept,tcp\n",
	})
}

func load(o manifest.Options, dir string) finding.List {
	_, found := o.Load(filepath.Join(dir, "here", "chain.yaml"))
	return found
}

func TestAManifestNamesFilesBelowItsFolderAlone(t *testing.T) {
	if found := load(manifest.Options{}, naming(t, "rules/acl.csv")); len(found) > 0 {
		t.Fatal(found)
	}
	outside := naming(t, "../there/acl.csv")
	absolute := naming(t, "/etc/hostname")
	link := naming(t, "rules/link.csv")
	if err := os.Symlink("../../there/acl.csv", filepath.Join(link, "here", "rules", "link.csv")); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"a name that leads out": outside, "an absolute name": absolute, "a link that leads out": link} {
		found := load(manifest.Options{}, dir)
		if len(found) != 1 || !strings.Contains(found[0].Message, "lies outside the manifest's folder") || !strings.Contains(found[0].Field, "rulesFrom.file") {
			t.Errorf("%s: %v; want one finding which says that the file lies outside", name, found)
		}
	}
	if found := load(manifest.Options{FilesBelow: []string{filepath.Join(outside, "there")}}, outside); len(found) > 0 {
		t.Errorf("a file below a folder that is allowed is refused: %v", found)
	}
}

func TestALinkThatStaysBelowTheFolderIsFollowed(t *testing.T) {
	dir := naming(t, "acl.csv") // as in a volume of a ConfigMap
	if err := os.Symlink("rules/acl.csv", filepath.Join(dir, "here", "acl.csv")); err != nil {
		t.Fatal(err)
	}
	if found := load(manifest.Options{}, dir); len(found) > 0 {
		t.Error(found)
	}
}

// TestAManifestComesThroughAPipe has a shell's <(…): the pipe can be read once, and is asked for twice. The manifest names a file of the
// folder that the program was started in.
func TestAManifestComesThroughAPipe(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(naming(t, "rules/acl.csv"), "here", "chain.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(naming(t, "rules/acl.csv"), "here"))
	if err := os.Remove("chain.yaml"); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = w.Write(text[:100])
		time.Sleep(10 * time.Millisecond)
		_, _ = w.Write(text[100:])
		_ = w.Close()
	}()
	name := fmt.Sprintf("/dev/fd/%d", r.Fd())
	for range 2 {
		if b, found := manifest.Load(name); len(found) > 0 || len(b.Chains) != 1 {
			t.Errorf("%d chains and %v; want one", len(b.Chains), found)
		}
	}
	closed := fmt.Sprintf("/dev/fd/%d", 1000)
	if _, found := manifest.Load(closed); len(found) != 1 || !strings.Contains(found[0].Message, "bad file descriptor") || found[0].File != closed {
		t.Errorf("%v; want one finding which says that nobody opened the file", found)
	}
}

func TestOnlyRegularFilesOfSomeSizeAreRead(t *testing.T) {
	for name, file := range map[string]string{"for rules": "rules/acl.csv", "for a manifest": "chain.yaml"} {
		t.Run("a FIFO "+name, func(t *testing.T) {
			dir := naming(t, "rules/acl.csv")
			fifo := filepath.Join(dir, "here", file)
			if err := os.Remove(fifo); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			done := make(chan finding.List, 1)
			go func() { done <- load(manifest.Options{}, dir) }()
			select {
			case found := <-done:
				if len(found) != 1 || !strings.Contains(found[0].Message, "is a FIFO; want a regular file") {
					t.Errorf("%v; want one finding which says that it is a FIFO", found)
				}
			case <-time.After(20 * time.Second):
				t.Error("a FIFO holds the reader up")
			}
		})
	}
	t.Run("a large file", func(t *testing.T) {
		dir := naming(t, "rules/acl.csv")
		if err := os.Truncate(filepath.Join(dir, "here", "rules", "acl.csv"), 1<<40); err != nil {
			t.Fatal(err)
		}
		if found := load(manifest.Options{}, dir); len(found) != 1 || !strings.Contains(found[0].Message, "more than 64 MiB") {
			t.Errorf("%v; want one finding which says how large a file may be", found)
		}
	})
}
