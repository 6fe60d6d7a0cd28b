package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// README.md and docs/operator.md show what kubectl prints of the sample under traffic; a user sees the same, but for names and numbers.
func TestKubectlPrintsWhatThePagesShow(t *testing.T) {
	w := begin(t)
	w.remove() // so that the events begin as those of a user's
	w.kubectl("apply", "-f", "config/samples/networks", "-f", sample)
	w.kubectl("apply", "-f", "test/e2e/testdata/hosts.yaml")
	w.kubectl("wait", "--for=condition=Ready", "pod/client", "pod/server", "--timeout=60s")
	w.waitReady(time.Minute)
	load := w.sendFrom(w.container("client", "traffic"), 1500, 40*time.Second)
	w.eventually("the chain reports the traffic", 30*time.Second, func() error {
		said := w.chain().Status
		if said.PacketRate < 1000 {
			return fmt.Errorf("%d packets per second", said.PacketRate)
		}
		if groups := w.instance().Status.Groups; len(groups) == 0 || len(groups[0].Owners) == 0 {
			return errors.New("nobody owns its shards")
		}
		return nil
	})
	for command, page := range map[string]string{
		"kubectl get servicechains,chaininstances,chainprograms": "README.md",
		"kubectl describe servicechain edge":                     "docs/operator.md",
		"kubectl sinter shards edge":                             "docs/operator.md",
	} {
		want := shown(t, page, command)
		got := w.kubectl(strings.Fields(command)[1:]...)
		if _, status, found := strings.Cut(got, "\nStatus:\n"); found {
			got = "Status:\n" + status // the spec stands above, as it was applied
		}
		if shape(got) != shape(want) {
			t.Errorf("%s\nprints\n%s\nwhose shape is\n%s\nwanted that of %s\n%s", command, got, shape(got), page, shape(want))
		}
	}
	load.end()
}

// shown is what a page shows below a command, until the next one or the block's end.
func shown(t *testing.T, page, command string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, page))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "$ "+command+"\n")
	if !found {
		t.Fatalf("%s does not show %q", page, command)
	}
	end := regexp.MustCompile("(?m)^(\\$ |```)").FindStringIndex(after)
	if end == nil {
		t.Fatalf("%s: what %q prints has no end", page, command)
	}
	return after[:end[0]]
}

var (
	variable = regexp.MustCompile(`[0-9a-f]{64}|\b[0-9a-f]{10}\b|\d{4}-\d\d-\d\dT[0-9:]+Z|\b(\d+d)?(\d+h)?(\d+m)?\d+s\b|\d+(\.\d+)?`)
	blanks   = regexp.MustCompile(`[ \t]+`)
)

// shape is a text without what differs from time to time: names, times, numbers, the widths
// of columns, and the list of events, which are as many as there were states on the way.
func shape(text string) string {
	text, events, _ := strings.Cut(text, "\nEvents:\n")
	if strings.Contains(events, "Forwarding") {
		text += "\nEvents: … Forwarding"
	}
	var lines []string
	for line := range strings.Lines(variable.ReplaceAllString(text, "N")) {
		if line = strings.TrimSpace(blanks.ReplaceAllString(line, " ")); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
