package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/classes"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sinterctl runs a command line and returns what it prints.
func sinterctl(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	root := newRoot(false)
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&errs)
	err = root.ExecuteContext(context.Background())
	return out.String(), errs.String(), err
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		was, is := firstDifference(string(want), got)
		t.Errorf("output differs from %s (go test -update rewrites it): line %q is now %q", path, was, is)
	}
}

func firstDifference(a, b string) (lineA, lineB string) {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return as[i], bs[i]
		}
	}
	return "", "longer or shorter"
}

const office = "testdata/office.yaml"

func TestOutputOf(t *testing.T) {
	packet := []string{"explain", office, "--in", "inside", "--src", "10.0.0.7", "--dst", "203.0.113.5"}
	for name, args := range map[string][]string{
		"validate.txt":         {"validate", office},
		"validate.json":        {"validate", office, "-o", "json"},
		"synth.txt":            {"synth", office},
		"synth.json":           {"synth", office, "-o", "json"},
		"synth.dot":            {"synth", office, "-o", "dot"},
		"explain-web.txt":      append(packet, "--dport", "443", "--reply"),
		"explain-rejected.txt": append(packet, "--dport", "25"),
		"explain-dropped.txt":  {"explain", office, "--in", "inside", "--src", "10.0.0.7", "--dst", "10.0.0.1", "--dport", "22", "--tcp-flags", "RST"},
		"explain-expired.txt":  append(packet, "--proto", "udp", "--ttl", "1"),
		"explain-ping.json":    append(packet, "--proto", "icmp", "-o", "json"),
		"explain-ips.txt":      {"explain", "../../config/samples/ips.yaml", "--in", "inside", "--src", "10.30.0.7", "--dst", "198.51.100.5", "--dport", "443", "--reply"},
		"explain-not-ipv4.txt": {"explain", office, "--in", "inside", "--hex", "02736e000000 020000000001 86dd 6000000000"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, err := sinterctl(t, args...)
			if err != nil {
				t.Fatal(err)
			}
			if stderr != "" {
				t.Errorf("unexpected words on standard error: %s", stderr)
			}
			golden(t, name, stdout)
		})
	}
}

func TestTheVersionIsPrintedByAFlagToo(t *testing.T) {
	byCommand, _, err := sinterctl(t, "version")
	if err != nil {
		t.Fatal(err)
	}
	byFlag, _, err := sinterctl(t, "--version")
	if err != nil || byFlag != byCommand || !strings.HasPrefix(byFlag, "sinterctl ") {
		t.Errorf("--version prints %q, %v; version prints %q", byFlag, err, byCommand)
	}
}

func TestWrongUseIsToldApartFromErrorsAndSaysWhatIsRight(t *testing.T) {
	for name, c := range wrongUses {
		t.Run(name, func(t *testing.T) {
			code, said := runProcess(t, c.args)
			if code != c.code {
				t.Errorf("exit code %d, want %d; it said: %s", code, c.code, said)
			}
			if !strings.Contains(said, c.says) {
				t.Errorf("said %q, want it to contain %q", said, c.says)
			}
		})
	}
}

// wrongUses are arguments, and what is said of them.
var wrongUses = map[string]struct {
	args []string
	code int
	says string
}{
	"unknown command":          {[]string{"vaildate"}, exitUsage, "unknown command"},
	"unknown flag":             {[]string{"synth", office, "--colour"}, exitUsage, "unknown flag --colour"},
	"a flag misspelt":          {[]string{"synth", office, "--chian", "a"}, exitUsage, `unknown flag --chian; did you mean "--chain"?`},
	"a time without its unit":  {[]string{"stats", "--over", "5"}, exitUsage, `--over "5": want a time with its unit, such as 500ms`},
	"a port that is too large": {[]string{"explain", office, "--sport", "99999"}, exitUsage, `--sport "99999": want a whole number from 0 to 65535`},
	"a number in words":        {[]string{"sessions", "--limit", "ten"}, exitUsage, `--limit "ten": want a whole number`},
	"a flag without its value": {[]string{"explain", office, "--in"}, exitUsage, "--in has no value: interface by which the packet enters"},
	"a frame with other signs": {[]string{"explain", office, "--in", "inside", "--hex", "0x02"}, exitUsage, `--hex: 'x' is no hexadecimal digit`},
	"half a byte":              {[]string{"explain", office, "--in", "inside", "--hex", "02:7"}, exitUsage, "--hex: the frame has 3 digits; want two for each byte"},
	"unknown output":           {[]string{"synth", office, "-o", "xml"}, exitUsage, "want one of table, json, yaml, dot, svg, program"},
	"binding without a device": {[]string{"run", office, "--bind", "inside"}, exitUsage, "want <interface>=<device>"},
	"interface bound twice":    {[]string{"run", office, "--bind", "inside=a", "--bind", "inside=b"}, exitUsage, "bound twice"},
	"source that is no address": {
		[]string{"explain", office, "--in", "inside", "--src", "ten", "--dst", "10.0.0.1"}, exitUsage, `--src "ten": want an IPv4 address`,
	},
	"unknown TCP flag": {
		[]string{"explain", office, "--in", "inside", "--src", "10.0.0.7", "--dst", "10.0.0.1", "--tcp-flags", "SYM"}, exitUsage, "unknown flag",
	},
	"a packet without its interface": {[]string{"explain", office, "--src", "10.0.0.7", "--dst", "10.0.0.1"}, exitUsage, "--in is missing: interface by which the packet enters"},
	"a packet given twice":           {[]string{"explain", office, "--in", "inside", "--hex", "00", "--src", "10.0.0.7"}, exitUsage, "[hex src] were all set"},
	"entry by an unknown interface": {
		[]string{"explain", office, "--in", "insdie", "--src", "10.0.0.7", "--dst", "10.0.0.1"}, exitUsage, "the chain's interfaces are inside, outside",
	},
	"binding of an unknown interface": {[]string{"run", office, "--bind", "dmz=eth0"}, exitError, `no interface "dmz", only inside, outside`},
	"two interfaces bound to one device": {
		[]string{"run", office, "--bind", "inside=eth0", "--bind", "outside=eth0"}, exitError, `interface outside: device "eth0" is bound to interface inside already`,
	},
	"no such file":                {[]string{"validate", "testdata/none.yaml"}, exitError, "testdata/none.yaml"},
	"no engine":                   {[]string{"stats", "--socket", "testdata/none.sock"}, exitError, "no engine listens on testdata/none.sock: start one with sinterctl run, or"},
	"no cluster":                  {[]string{"cluster", "status", "--kubeconfig", "testdata/none"}, exitError, "testdata/none"},
	"a cluster that is not there": {[]string{"cluster", "programs", "office", "--server", "http://127.0.0.1:1"}, exitError, "connection refused"},
	"one chain of all namespaces": {[]string{"cluster", "status", "office", "-A"}, exitUsage, "leave the chain's name out"},
	"waiting and watching":        {[]string{"cluster", "status", "--wait", "--watch"}, exitUsage, "[wait watch] were all set"},
	"a time-out without a wait":   {[]string{"cluster", "status", "--timeout", "10s"}, exitUsage, "--timeout is for --wait, which is missing"},
	"a wait for no time":          {[]string{"cluster", "status", "--wait", "--timeout", "0s"}, exitUsage, "--timeout 0s: want a time above zero"},
	"a test without time":         {[]string{"cluster", "connectivity-test", "--server", "http://127.0.0.1:1", "--wait", "0s"}, exitUsage, "--wait 0s: want a time above zero"},
	"a test of no cluster":        {[]string{"cluster", "connectivity-test", "--server", "http://127.0.0.1:1"}, exitError, "or name the image by --image"},
	"a page as JSON":              {[]string{"cluster", "status", "--watch", "-o", "json"}, exitUsage, "want -o table or wide with it, not json"},
	"a wide difference":           {[]string{"cluster", "diff", "office", "1", "2", "-o", "wide"}, exitUsage, "want one of text, json, yaml"},
	"rollback to nothing":         {[]string{"cluster", "rollback", "office"}, exitUsage, "(<revision> | --undo) is missing\nusage: sinterctl cluster rollback <chain> (<revision> | --undo)"},
	"undo with a revision":        {[]string{"cluster", "rollback", "office", "2", "--undo"}, exitUsage, "\"2\" is one argument too many"},
	"no file":                     {[]string{"validate"}, exitUsage, "sinterctl: <file or folder> is missing\nusage: sinterctl validate <file or folder>... [flags]\nsee sinterctl validate --help\n"},
	"no file to run":              {[]string{"run", "--", "--no-pci"}, exitUsage, "<file or folder> is missing"},
	"no revisions":                {[]string{"cluster", "diff", "office"}, exitUsage, "<revision> and <revision> are missing"},
	"shards of no chain":          {[]string{"cluster", "shards"}, exitUsage, "<chain> is missing\nusage: sinterctl cluster shards <chain>"},
	"no list and no chain":        {[]string{"cluster", "top"}, exitUsage, "and <chain> are missing"},
	"an argument of none":         {[]string{"stats", "office"}, exitUsage, "\"office\" is one argument too many"},
	"a list that there is not":    {[]string{"top", "flow"}, exitUsage, `there is no list "flow"; did you mean "flows"?`},
	"a class without its segment": {[]string{"trace", "--class", ":4"}, exitUsage, "the segment is missing"},
	"flows of a packet as it is": {
		[]string{"bench", office, "--in", "inside", "--hex", "00", "--flows", "2"}, exitUsage, "--flows 2: the packet of --hex or --pcap is one flow",
	},
	"flows of a protocol without ports": {
		[]string{"bench", office, "--in", "inside", "--src", "10.0.0.7", "--dst", "10.0.0.1", "--proto", "47", "--flows", "2"}, exitUsage, "--proto 47 has not",
	},
	"flows of ICMP errors": {
		[]string{"bench", office, "--in", "inside", "--src", "10.0.0.7", "--dst", "10.0.0.1", "--proto", "icmp", "--icmp-type", "3", "--flows", "2"},
		exitUsage, "icmp with --icmp-type 8 or 0",
	},
	"a flow for each packet without ports": {
		[]string{"bench", office, "--in", "inside", "--src", "10.0.0.7", "--dst", "10.0.0.1", "--proto", "icmp", "--unique-flows"},
		exitUsage, "--unique-flows: the packet has no source port",
	},
}

func TestErrorsNameWhatTheyAreAbout(t *testing.T) {
	for says, args := range map[string][]string{
		"gatway":    {"validate", misspelt(t)},
		"none.sock": {"trace", "--socket", "testdata/none.sock", "-f", filepath.Join(t.TempDir(), "none")},
	} {
		if code, said := runProcess(t, args); code != exitError || !strings.Contains(said, says) {
			t.Errorf("%v: exit code %d, said %q; want %d, and %s", args, code, said, exitError, says)
		}
	}
}

// runProcess runs as main does, with standard error caught.
func runProcess(t *testing.T, args []string) (code int, stderr string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer func(old *os.File) { os.Stderr = old }(os.Stderr)
	os.Stderr = f
	code = run(context.Background(), "sinterctl", args)
	said, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return code, string(said)
}

// misspelt is the office chain with a mistake.
func misspelt(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(office)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "chain.yaml")
	if err := os.WriteFile(path, bytes.Replace(b, []byte("gateway"), []byte("gatway"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheChainInTheReadmeIsTheOneTested(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	chain, err := os.ReadFile(office)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(readme, chain) {
		t.Errorf("README.md does not contain %s as it is", office)
	}
}

func TestSynthSaysOfWhatIsSentToAnInterfaceWhichPacketsAreAnsweredHow(t *testing.T) {
	const want = "→ whole echo requests: answer: echo reply, whole TCP segments but resets: answer: TCP reset, " +
		"fragments of echo requests: answer: echo reply, " +
		"UDP with its header: answer: ICMP 3/3, other protocols but later fragments: answer: ICMP 3/2, else drop: local\n"
	stdout, _, err := sinterctl(t, "synth", office)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(stdout, "→ answer: echo reply") || strings.Count(stdout, want) != 2 {
		t.Errorf("synth says\n%s\nwant twice %q", stdout, want)
	}
}

// Two firewalls of which each pair of rules has packets in common are too large for one look-up. Synth tells why there are two, and what they cost.
func TestSynthTellsOfLookupsThatStayApart(t *testing.T) {
	dir, files := t.TempDir(), map[string]string{}
	for name, line := range map[string]string{"hosts.csv": "Accept,10.0.%d.0/24,,\n", "services.csv": "Accept,,tcp,%d\n"} {
		text := "action,source,protocol,destinationPorts\n"
		for i := range 200 {
			text += fmt.Sprintf(line, 1+i)
		}
		files[name] = text
	}
	files["chain.yaml"] = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: apart}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.2/24}
  functions:
  - {name: hosts, firewall: {default: Drop, rulesFrom: {file: hosts.csv, format: CSV}}}
  - {name: services, firewall: {default: Drop, rulesFrom: {file: services.csv, format: CSV}}}
  path: [inside, hosts, services, outside]
`
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	chain := filepath.Join(dir, "chain.yaml")
	stdout, _, err := sinterctl(t, "synth", chain)
	if err != nil {
		t.Fatal(err)
	}
	const says = "\nservices is a look-up of its own behind hosts (from inside): one for all would have up to 40,"
	if !strings.Contains(stdout, says) {
		t.Errorf("synth says\n%.2000s\nand not %q", stdout, says)
	}
	if stdout, _, err = sinterctl(t, "synth", chain, "-o", "json"); err != nil {
		t.Fatal(err)
	}
	var listing classes.Listing
	if err := json.Unmarshal([]byte(stdout), &listing); err != nil {
		t.Fatal(err)
	}
	if len(listing.Cuts) == 0 || listing.Cuts[0].Function != "services" || listing.Cuts[0].Reason != "TooLarge" || listing.Cuts[0].Units <= listing.Cuts[0].Limit {
		t.Errorf("the cuts are %+v", listing.Cuts)
	}
}
