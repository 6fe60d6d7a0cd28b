package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

func init() {
	graphtest.Files["good.rules"] = `drop udp any any -> any 53 (msg:"tunnel"; content:"|00 01|"; sid:1;)
alert dns any any -> any 53 (dns.query; content:"pool."; sid:2;)
alert tcp-pkt any any <> 10.0.0.9 80 (content:"x"; sid:3;)
`
	var many strings.Builder
	for i := range 65 {
		fmt.Fprintf(&many, "drop udp any any -> any %d (content:\"x\"; sid:%d;)\n", 1000+i, 1+i)
	}
	graphtest.Files["many.rules"] = many.String()
	graphtest.Files["bad.rules"] = "drop udp any any -> any 53 (content:\"x\"; sid:1;)\ndrop http any any -> any 80 (content:\"x\"; sid:2;)\n"
}

// inspectChain is a chain with an inspection, whose fields are in line 11.
func inspectChain(fields string) string {
	return graphtest.Header + graphtest.TwoInterfaces + "  functions:\n  - name: ids\n    inspect: " + fields + "\n  path: [inside, ids, outside]\n"
}

func TestWhatIsWrongWithAnInspection(t *testing.T) {
	const at = "spec.functions[0].inspect."
	for name, k := range map[string]struct{ fields, want string }{
		"nothing to look for":   {"{action: Drop}", "name what to look for: patterns, regex, dns, sni, httpHost or rulesFrom"},
		"a mark without DSCP":   {"{patterns: [x], action: Mark}", "mark goes with action Mark"},
		"a DSCP without a mark": {"{patterns: [x], mark: 3}", "mark goes with action Mark"},
		"ICMP":                  {"{patterns: [x], protocol: icmp}", at + `protocol: "icmp": is not looked into; write udp or tcp`},
		"names by TCP":          {"{dns: [x], protocol: tcp}", at + `dns: "x": is of the other protocol: dns is asked for by udp`},
		"too much of a stream":  {"{patterns: [x], protocol: tcp, streams: {depth: 16385}}", "streams.depth"},
		"a bad pattern":         {`{patterns: [x, "|0|"]}`, at + `patterns[1]: "|0|": has bars that hold no bytes in hexadecimal`},
		"a bad expression":      {`{regex: ["a$"]}`, at + `regex[0]: "a$": $ and lines are not matched`},
		"a bad name":            {`{dns: ["a..b"]}`, at + `dns[0]: "a..b": not a name of the DNS; write it like`},
		"a star within a name":  {`{dns: ["a.*.b"]}`, at + `dns[0]: "a.*.b": not a name of the DNS`},
		"an action not built":   {"{patterns: [x], action: Reset}", `"Reset"`},
		"names by UDP":          {"{sni: [x]}", at + `sni: "x": is of the other protocol`},
		"too many names": {
			fmt.Sprintf("{patterns: [x%s], dns: [a%s]}", strings.Repeat(", x", 1023), strings.Repeat(", b", 3072)),
			at + `dns[3072]: "b": is one more than a function may look for in the same packets, which is 4096; divide them among several functions`,
		},
		"too many sets of ports": {"{rulesFrom: {file: many.rules}}", at + `rulesFrom: "many.rules:65": is for further addresses or ports; a function may have rules for 64 sets of them`},
		"a bad line of a file":   {"{rulesFrom: {file: bad.rules}}", `bad.rules:2: protocol: "http": is not told by what packets have in them`},
		"a file that is not":     {"{rulesFrom: {file: no.rules}}", at + `rulesFrom.file: "no.rules"`},
	} {
		t.Run(name, func(t *testing.T) {
			if found := graphtest.Findings(t, inspectChain(k.fields)); !found.HasErrors() || !strings.Contains(found.String(), k.want) {
				t.Errorf("got\n%s\nwant in it\n%s", found, k.want)
			}
		})
	}
}

func TestAnInspectionIsLowered(t *testing.T) {
	for name, k := range map[string]struct {
		fields      string
		want, never []string
	}{
		"all in one": {
			`{patterns: ["a|00|"], regex: ["b+"], dns: ["*.bad.example", good.example.]}`,
			[]string{
				`inspect 4 rules; patterns[0]: drop ids/matched → payload "a\x00"; regex[0]: drop ids/matched → payload ~ b+; ` +
					`dns[0]: drop ids/matched → dns.query ".bad.example" nocase endswith; dns[1]: drop ids/matched → dns.query "good.example" nocase offset 0 depth 12 endswith`,
				"ids/fragment", "ids/inside", "ids/outside",
			},
			[]string{"ids/inspect-2"},
		},
		"fragments pass":               {"{patterns: [a], fragments: Pass}", nil, []string{"ids/fragment"}},
		"who counts needs no fragment": {"{patterns: [a], action: Count}", []string{"patterns[0]: count"}, []string{"ids/fragment"}},
		"a mark":                       {"{patterns: [a], action: Mark, mark: 12}", []string{"patterns[0]: dscp 12"}, nil},
		"rules by what they are for": {
			"{rulesFrom: {file: good.rules}}",
			[]string{`inspect 2 rules; sid 1: tunnel: drop ids/matched → payload "\x00\x01"; sid 2: count → dns.query "pool."`, `inspect 1 rules; sid 3: count → payload "x"`, "ids/inspect-2"},
			[]string{"ids/inspect-3"},
		},
		"streams": {
			"{patterns: [a], protocol: tcp, streams: {depth: 100, max: 9, timeout: 5s}}",
			[]string{"inspect 1 rules, 100 bytes of 9 streams, 144 known for 5s; patterns[0]: drop ids/matched"},
			nil,
		},
		"names of streams": {
			"{protocol: tcp, sni: [a.example], httpHost: [\"*.b.example\"]}",
			[]string{`sni[0]: drop ids/matched → tls.sni "a.example" nocase offset 0 depth 9 endswith; httpHost[0]: drop ids/matched → http.host ".b.example" nocase endswith`},
			nil,
		},
		"of one side": {"{patterns: [a], from: Outside}", []string{"ids/inspect"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g, found := graphtest.Lower(t, inspectChain(k.fields))
			if g == nil {
				t.Fatal(found)
			}
			graphtest.CheckWiring(t, g)
			var dump strings.Builder
			if err := g.Dump(&dump); err != nil {
				t.Fatal(err)
			}
			for _, w := range k.want {
				if !strings.Contains(dump.String(), w) {
					t.Errorf("got\n%s\nwant in it\n%s", &dump, w)
				}
			}
			for _, w := range k.never {
				if strings.Contains(dump.String(), w) {
					t.Errorf("got\n%s\nwant not in it\n%s", &dump, w)
				}
			}
		})
	}
}
