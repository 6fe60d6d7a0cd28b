package routes

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
)

// The table is the published one, line by line.
func TestTheTableIsTheInternets(t *testing.T) {
	f, err := os.Open("../data/routes/table.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	prefixes, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	text := sha256.New()
	for _, p := range prefixes {
		_, _ = fmt.Fprintln(text, p)
	}
	const published = "5600c6c834025080bf6206511b3538572ecf7930903b0a2d98a559ff98a67532"
	if got := hex.EncodeToString(text.Sum(nil)); len(prefixes) != 901_899 || got != published {
		t.Errorf("%d prefixes, SHA-256 of their lines %s; want 901899 and %s", len(prefixes), got, published)
	}
}

func TestWhatIsPackedIsUnpacked(t *testing.T) {
	for _, lines := range []string{
		"",
		"0.0.0.0/0",
		"0.0.0.0/0 0.0.0.0/1 0.0.0.0/32 0.0.0.1/32 128.0.0.0/1 255.255.255.255/32",
		"10.0.0.0/8 10.0.0.0/9 10.0.0.0/24 10.0.1.0/24 10.128.0.0/9 11.0.0.0/8",
	} {
		want := parse(lines)
		var packed bytes.Buffer
		if err := Write(&packed, want); err != nil {
			t.Fatal(lines, err)
		}
		if got, err := Read(&packed); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s came back as %v (%v)", lines, got, err)
		}
	}
}

func TestWhatCannotBePacked(t *testing.T) {
	for lines, want := range map[string]string{
		"10.0.0.1/8":            "host bits",
		"2001:db8::/32":         "IPv4",
		"11.0.0.0/8 10.0.0.0/8": "does not come after",
		"10.0.0.0/9 10.0.0.0/8": "does not come after",
		"10.0.0.0/8 10.0.0.0/8": "does not come after",
	} {
		if err := Write(&bytes.Buffer{}, parse(lines)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", lines, err, want)
		}
	}
}

func TestWhatIsNoTable(t *testing.T) {
	for name, content := range map[string][]byte{
		"too many":        {0xff, 0xff, 0xff, 0xff, 0x7f},
		"too few lengths": {2, 8},
		"no gap":          {1, 8},
		"length 33":       {1, 33, 0},
		"beyond the end":  {2, 8, 8, 255, 1, 1},
		"more":            {1, 8, 10, 0},
	} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(content)
		_ = z.Close()
		if got, err := Read(&packed); err == nil {
			t.Errorf("%s: read as %v", name, got)
		}
	}
}

func parse(lines string) []netip.Prefix {
	var out []netip.Prefix
	for _, l := range strings.Fields(lines) {
		out = append(out, netip.MustParsePrefix(l))
	}
	return out
}
