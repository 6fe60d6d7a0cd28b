// Package images tests the scripts that bring images to registries.
package images

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const repository = "../.."

// push runs hack/images/push.sh with archives that are there already.
func push(t *testing.T, images string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(repository, "hack/images/push.sh"), args...)
	cmd.Env = append(os.Environ(), "IMAGES="+images)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestPushSaysWhatIsMissing(t *testing.T) {
	for says, args := range map[string][]string{
		"make push REGISTRY=registry.example.com/sinter": {""},
		"no registry is named":                           {},
		"write host and path alone":                      {"https://registry.example.com"},
		`"--dest-tls-verify=false" is no registry`:       {"--dest-tls-verify=false"},
	} {
		out, err := push(t, t.TempDir(), args...)
		if err == nil || !strings.Contains(out, says) {
			t.Errorf("push.sh %q: %v, want an error that says %q:\n%s", args, err, says, out)
		}
	}
}

func TestPushPutsBothImagesIntoARegistryAndSaysHowToInstallThem(t *testing.T) {
	address := startRegistry(t)
	images := t.TempDir()
	archive(t, images, "sinter-operator", "v7")
	archive(t, images, "sinter-dataplane", "v7")

	out, err := push(t, images, address+"/some/where/", "--dest-tls-verify=false")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"sinter-operator", "sinter-dataplane"} {
		var list struct{ Tags []string }
		read(t, fmt.Sprintf("http://%s/v2/some/where/%s/tags/list", address, name), &list)
		if len(list.Tags) != 1 || list.Tags[0] != "v7" {
			t.Errorf("%s has the tags %v in the registry, want v7", name, list.Tags)
		}
	}
	if want := "--set image.registry=" + address + "/some/where --set-string image.tag=v7\n"; !strings.HasSuffix(out, want) {
		t.Errorf("push.sh ends in\n%s\nwant %s", out, want)
	}

	archive(t, images, "sinter-dataplane", "v8")
	if out, err := push(t, images, address, "--dest-tls-verify=false"); err == nil || !strings.Contains(out, "is of v8, the other image of v7") {
		t.Errorf("images of two tags: %v, want an error with both\n%s", err, out)
	}
}

// archive makes an image of one small file.
func archive(t *testing.T, folder, name, tag string) {
	t.Helper()
	layer := t.TempDir()
	if err := os.WriteFile(filepath.Join(layer, name), []byte(tag), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(repository, "hack/images/oci.py"), "--name", "example.com/"+name+":"+tag,
		"--layer", layer, "--entrypoint", "/"+name, filepath.Join(folder, name+".tar")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// startRegistry starts Debian's registry, without TLS, and waits until it answers. Where there is none, the test is skipped.
func startRegistry(t *testing.T) string {
	t.Helper()
	var why strings.Builder
	fetch := exec.CommandContext(t.Context(), filepath.Join(repository, "hack/registry.sh"))
	fetch.Stderr = &why
	program, err := fetch.Output()
	if err != nil {
		t.Skipf("no registry to push to: hack/registry.sh: %v: %s", err, why.String())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	config := filepath.Join(folder, "config.yml")
	text := fmt.Sprintf("version: 0.1\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: %q}\n", folder, address)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), strings.TrimSpace(string(program)), "serve", config)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for range 100 {
		if connection, err := net.Dial("tcp", address); err == nil {
			_ = connection.Close()
			return address
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the registry does not answer")
	return ""
}

func read(t *testing.T, url string, into any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}
