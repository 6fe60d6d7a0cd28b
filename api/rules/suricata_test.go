package rules

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func TestSuricataRulesAreRead(t *testing.T) {
	text := `# a comment

drop udp any any -> any 53 (msg:"a \"tunnel\"; really"; content:"|00 01|tunnel\;"; offset:12; depth:20; nocase; pcre:"/x=[0-9]\/;/is"; sid:7; rev:3;)
alert dns 10.0.0.0/8 any <> [192.0.2.1, 192.0.2.2] [53,5353:] (dns.query; content:"pool."; startswith; pkt_data; content:"z"; endswith; sid:8;)
alert tcp-pkt any :1023 -> any any (content:"GET"; fast_pattern; metadata:a b, c d; sid:9;)
drop tcp any :1023 -> any any (content:"GET"; http.host; content:".example"; endswith; tls.sni; pcre:"/x/"; sid:10;)
`
	rules, problems := Suricata([]byte(text))
	if len(problems) > 0 || len(rules) != 4 {
		t.Fatalf("%d rules, problems %+v", len(rules), problems)
	}
	want := [][]Part{
		{{Text: []byte("\x00\x01tunnel;"), Offset: 12, Depth: 20, NoCase: true}, {Regex: `(?is)x=[0-9]\/;`}},
		{{Buffer: "dns.query", Text: []byte("pool."), Depth: 5}, {Text: []byte("z"), AtEnd: true}},
		{{Text: []byte("GET")}},
		{{Text: []byte("GET")}, {Buffer: "http.host", Text: []byte(".example"), AtEnd: true}, {Buffer: "tls.sni", Regex: "x"}},
	}
	for i, name := range []string{`sid 7: a \"tunnel\"; really`, "sid 8", "sid 9", "sid 10"} {
		if r := rules[i]; r.Name != name || r.Drop != (i == 0 || i == 3) || r.Stream != (i == 3) || r.Line != 3+i || !reflect.DeepEqual(r.Parts, want[i]) {
			t.Errorf("rule %d is %+v, want %s with %+v", i, r, name, want[i])
		}
	}
	for i, r := range rules {
		if !sameFilters(r.Filters, i) {
			t.Errorf("rule %d is for %v", i, r.Filters)
		}
	}
}

// sameFilters compares with what the rules of TestSuricataRulesAreRead say.
func sameFilters(got []headerspace.Filter, rule int) bool {
	udp := headerspace.Filter{}.With(headerspace.Proto, headerspace.Of(17))
	servers := headerspace.Of(53).Union(headerspace.Range(5353, 65535))
	inside, two := mustAddresses("10.0.0.0/8"), mustAddresses("192.0.2.1-192.0.2.2")
	want := [][]headerspace.Filter{
		{udp.With(headerspace.DPort, headerspace.Of(53))},
		{
			udp.With(headerspace.Src, inside).With(headerspace.Dst, two).With(headerspace.DPort, servers),
			udp.With(headerspace.Src, two).With(headerspace.Dst, inside).With(headerspace.SPort, servers),
		},
		{headerspace.Filter{}.With(headerspace.Proto, headerspace.Of(6)).With(headerspace.SPort, headerspace.Range(0, 1023))},
		{headerspace.Filter{}.With(headerspace.Proto, headerspace.Of(6)).With(headerspace.SPort, headerspace.Range(0, 1023))},
	}[rule]
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if !got[i].Equal(want[i]) {
			return false
		}
	}
	return true
}

func mustAddresses(s string) headerspace.Set {
	a, p := ParseAddressSet(s)
	if p != nil {
		panic(p.Message)
	}
	return headerspace.AddrRange(a.First, a.Last)
}

func TestSuricataRulesThatCannotBeReadAreRefusedByLine(t *testing.T) {
	const options = `(content:"x"; sid:1;)`
	for name, test := range map[string]struct{ rule, field, says string }{
		"no options":                {"drop udp any any -> any 53", "", "not a rule; write one like: drop udp"},
		"too few fields":            {"drop udp any -> any 53 " + options, "", "not a rule"},
		"another action":            {"reject udp any any -> any 53 " + options, "action", "is not done; write drop, or alert to count"},
		"a mistyped action":         {"dorp udp any any -> any 53 " + options, "action", `did you mean "drop"?`},
		"a protocol by its bytes":   {"drop http any any -> any 80 " + options, "protocol", "is not told by what packets have in them; write tcp and ports"},
		"the end of a stream":       {`drop tcp any any -> any 80 (content:"x"; endswith; sid:1;)`, "endswith", "is of single packets"},
		"another protocol":          {"drop icmp any any -> any any " + options, "protocol", "unknown protocol; write udp, dns, tcp, or tcp-pkt"},
		"a variable":                {"drop udp $HOME_NET any -> any 53 " + options, "source", "variables are not known"},
		"an exclusion":              {"drop udp !10.0.0.1 any -> any 53 " + options, "source", "exclusions and lists within lists are not read"},
		"a bad address":             {"drop udp 10.0.0.300 any -> any 53 " + options, "source[0]", "10.0.0.300"},
		"a bad port":                {"drop udp any any -> any 70000 " + options, "destinationPorts[0]", "not a port or range of ports"},
		"a direction":               {"drop udp any any <- any 53 " + options, "direction", "write -> or <>"},
		"an unknown option":         {`drop udp any any -> any 53 (contnt:"x"; sid:1;)`, "contnt", `did you mean "content"?`},
		"an option of streams":      {`drop udp any any -> any 53 (flow:to_server; content:"x"; sid:1;)`, "flow", "is not read yet"},
		"tls.sni":                   {`drop tcp-pkt any any -> any 443 (tls.sni; content:"x"; sid:1;)`, "tls.sni", "is of TCP streams; write the protocol tcp"},
		"http.host":                 {`drop udp any any -> any 80 (http.host; content:"x"; sid:1;)`, "http.host", "is of TCP streams"},
		"dns.query of TCP":          {`drop tcp-pkt any any -> any 53 (dns.query; content:"x"; sid:1;)`, "dns.query", "is of UDP"},
		"a content excluded":        {`drop udp any any -> any 53 (content:!"x"; sid:1;)`, "content", "what must not be there is not read"},
		"an empty content":          {`drop udp any any -> any 53 (content:""; sid:1;)`, "content", "must be a text in quotes, and not empty"},
		"bad hexadecimal":           {`drop udp any any -> any 53 (content:"|0|"; sid:1;)`, "content", "has bars that hold no bytes in hexadecimal"},
		"an open bar":               {`drop udp any any -> any 53 (content:"|00"; sid:1;)`, "content", "has bars that hold no bytes in hexadecimal"},
		"an open quote":             {`drop udp any any -> any 53 (content:"x; sid:1;)`, "options", "does not end; write a semicolon behind it, and close quotes"},
		"an open option":            {`drop udp any any -> any 53 (content:"x"; sid:1)`, "options", "does not end"},
		"a modifier of nothing":     {`drop udp any any -> any 53 (nocase; content:"x"; sid:1;)`, "nocase", "stands behind a content"},
		"a modifier of a pcre":      {`drop udp any any -> any 53 (pcre:"/x/"; depth:3; sid:1;)`, "depth", "stands behind a content"},
		"a depth below the content": {`drop udp any any -> any 53 (content:"xyz"; depth:2; sid:1;)`, "depth", "must be a number from 3 to 65535"},
		"an offset too large":       {`drop udp any any -> any 53 (content:"xyz"; offset:65536; sid:1;)`, "offset", "must be a number from 0 to 65535"},
		"an end too large":          {`drop udp any any -> any 53 (content:"xyz"; offset:65534; sid:1;)`, "offset", "lies beyond byte 65535"},
		"no sid":                    {`drop udp any any -> any 53 (content:"x";)`, "sid", "is missing"},
		"a bad sid":                 {`drop udp any any -> any 53 (content:"x"; sid:0;)`, "sid", "must be a number of at least 1"},
		"nothing to look for":       {`drop udp any any -> any 53 (sid:1;)`, "content", "a rule needs 1 to 16"},
		"a pcre without slashes":    {`drop udp any any -> any 53 (pcre:"x"; sid:1;)`, "pcre", `must be like "/expression/"`},
		"a pcre's flag":             {`drop udp any any -> any 53 (pcre:"/x/U"; sid:1;)`, "pcre", "has other flags than i and s"},
		"a pcre beyond RE2":         {`drop udp any any -> any 53 (pcre:"/(?=x)/"; sid:1;)`, "pcre", "not a regular expression (RE2)"},
	} {
		t.Run(name, func(t *testing.T) {
			rules, problems := Suricata([]byte("# first\n" + test.rule + "\n"))
			if len(problems) != 1 || len(rules) != 0 {
				t.Fatalf("%d rules, problems %+v", len(rules), problems)
			}
			if p := problems[0]; p.Line != 2 || p.Field != test.field || !strings.Contains(p.Message+p.Value, test.says) {
				t.Errorf("line %d, field %q, value %q: %s\nwant line 2, field %q: %s", p.Line, p.Field, p.Value, p.Message, test.field, test.says)
			}
		})
	}
}

func TestTwoRulesOfOneSidAreRefused(t *testing.T) {
	const rule = "alert udp any any -> any any (content:\"x\"; sid:5;)\n"
	_, problems := Suricata([]byte(rule + "\n" + rule))
	if len(problems) != 1 || problems[0].Line != 3 || !strings.Contains(problems[0].Message, "line 1 has it, too") {
		t.Errorf("problems are %+v", problems)
	}
}

func TestManyBadLinesAreToldInPart(t *testing.T) {
	_, problems := Suricata([]byte(strings.Repeat("drop\n", 1000)))
	if len(problems) != maxProblems+1 {
		t.Errorf("%d problems are told, want %d and that there are more", len(problems), maxProblems)
	}
}

func TestRegularExpressionsThatStreamsOfBytesCannotHaveAreRefused(t *testing.T) {
	for text, says := range map[string]string{
		`a$`:                    "$ and lines are not matched",
		`(?m)^a`:                "$ and lines are not matched",
		`a\b`:                   `\b and \B are not matched`,
		`a|^b`:                  "^ may stand at the beginning alone",
		`a^b`:                   "^ may stand at the beginning alone",
		`a*`:                    "matches an empty payload",
		`^`:                     "matches an empty payload",
		`é`:                     `write bytes beyond printable ASCII like \xe9`,
		`\x{20ac}`:              "is no byte",
		`[\x{100}-\x{200}]`:     "a class has no byte",
		`[^\x00-\x{10ffff}]`:    "matches nothing",
		`a{1001}`:               "not a regular expression (RE2)",
		`(a{500}){9}`:           "not a regular expression (RE2)",
		`(?:[ab]{100}c){10}`:    "",
		`a(?=b)`:                "not a regular expression (RE2)",
		`\1`:                    "not a regular expression (RE2)",
		`(abc`:                  "not a regular expression (RE2)",
		`^(?i)GET [^\r\n]+\xff`: "",
		`(^a)b`:                 "",
		`a.c\s\d\w[[:alpha:]]`:  "",
	} {
		message := CheckRegex(text)
		if (says == "") != (message == "") || !strings.Contains(message, says) {
			t.Errorf("of %s it is said %q, want %q", text, message, says)
		}
	}
}

func FuzzSuricata(f *testing.F) {
	f.Add([]byte(`drop udp any any -> any 53 (msg:"x"; content:"|00|y"; nocase; offset:1; depth:9; pcre:"/a/i"; dns.query; content:"z"; sid:1;)`))
	f.Fuzz(func(t *testing.T, text []byte) {
		rules, problems := Suricata(text)
		for _, r := range rules {
			if len(r.Parts) == 0 || len(r.Filters) == 0 || r.Name == "" {
				t.Errorf("%q is read as %+v, with problems %+v", text, r, problems)
			}
		}
	})
}
