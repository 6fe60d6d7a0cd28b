package manifest

import (
	"regexp"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"
)

// patterns calls f with each schema below one that has a pattern.
func patterns(s *schema, f func(*schema)) {
	if s == nil {
		return
	}
	if s.Pattern != "" {
		f(s)
	}
	for _, p := range s.Properties {
		patterns(p, f)
	}
	patterns(s.Items, f)
	patterns(s.Additional, f)
}

func TestEachPatternOfTheTypesHasWords(t *testing.T) {
	known, err := schemas()
	must(t, err)
	used := map[string]bool{}
	for kind, s := range known {
		patterns(s, func(s *schema) {
			used[s.Pattern] = true
			if forms[s.Pattern].must == "" {
				t.Errorf("%s: the pattern %s has no words in forms", kind, s.Pattern)
			}
		})
	}
	for pattern := range forms {
		if !used[pattern] {
			t.Errorf("no type has the pattern %s", pattern)
		}
	}
	if len(used) < 15 {
		t.Errorf("%d patterns were found: too few to tell", len(used))
	}
}

// as is a schema of text with the pattern.
func as(pattern string) *schema {
	return &schema{Type: "string", Pattern: pattern, pattern: regexp.MustCompile(pattern)}
}

// A value is written as in YAML.
func TestAValueOfAnotherFormIsSaidWithWhatMayBeMeant(t *testing.T) {
	const (
		name     = `^[a-z]([-a-z0-9]*[a-z0-9])?$`
		label    = `^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
		mac      = `^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$`
		duration = `^([0-9]+(ms|s|m|h))+$`
		ports    = `^[0-9]{1,5}(-[0-9]{1,5})?$`
		vlan     = `^([0-9]{1,4}|None)$`
		rate     = `^[0-9]+(\.[0-9]+)? ?([kMG]?bit/s|[kM]?pps)$`
		size     = `^[0-9]+(k|Ki|[MG]i?)?$`
		path     = `^/[!-~]*$`
		hash     = `^[0-9a-f]{64}$`
	)
	for _, c := range []struct{ pattern, value, write string }{
		{name, `My_Zone`, `; write "my-zone"`},
		{name, `"zone 1"`, `; write "zone-1"`},
		{name, `"-"`, ``},
		{label, `allow web`, `; write "allow-web"`},
		{mac, `0011.2233.4455`, `; write "00:11:22:33:44:55"`},
		{mac, `00-11-22-33-44-55`, `; write "00:11:22:33:44:55"`},
		{mac, `001122aabbcc`, `; write "00:11:22:aa:bb:cc"`},
		{mac, `00:11:22:33:44`, ``},
		{mac, `001122334455`, `; write "00:11:22:33:44:55"`}, // a number
		{duration, `7440`, `; write "7440s" or "2h4m"`},
		{duration, `5`, `; write "5s"`},
		{duration, `3600`, `; write "3600s" or "1h"`},
		{duration, `"5 s"`, `; write "5s"`},
		{duration, `1.5h`, `; write "1h30m"`},
		{duration, `2d`, `; write "48h"`},
		{duration, `soon`, ``},
		{duration, `-5s`, ``},
		{ports, `"80:90"`, `; write "80-90"`},
		{ports, `80 - 90`, `; write "80-90"`},
		{ports, `http`, ``},
		{vlan, `none`, `; write "None"`},
		{quantityPattern, `512MB`, `; write "512Mi"`},
		{quantityPattern, `2 GiB`, `; write "2Gi"`},
		{rate, `10mbit`, `; write "10 Mbit/s"`},
		{rate, `1.5Gbps`, `; write "1.5 Gbit/s"`},
		{rate, `5Kpps`, `; write "5 kpps"`},
		{rate, `10`, ``},
		{size, `64KB`, `; write "64Ki"`},
		{size, `64Kib`, `; write "64Ki"`},
		{path, `healthz`, `; write "/healthz"`},
		{hash, `ABCD`, ``},
	} {
		var n yamlv3.Node
		must(t, yamlv3.Unmarshal([]byte(c.value), &n))
		d := decoder{doc: &document{lines: map[string]int{}}}
		d.value(n.Content[0], as(c.pattern), "x", 1, 0)
		if want := forms[c.pattern].must + c.write; len(d.findings) != 1 || d.findings[0].Message != want {
			t.Errorf("%s: findings are\n%swanted\n%s", c.value, d.findings, want)
		}
	}
}

func TestANumberWhoseDigitsAreRightIsToBeQuoted(t *testing.T) {
	var n yamlv3.Node
	must(t, yamlv3.Unmarshal([]byte("80"), &n))
	d := decoder{doc: &document{lines: map[string]int{}}}
	d.value(n.Content[0], as(`^[0-9]{1,5}(-[0-9]{1,5})?$`), "x", 1, 0)
	if want := "must be text, not a number; put it in quotes"; len(d.findings) != 1 || d.findings[0].Message != want {
		t.Errorf("findings are\n%swanted\n%s", d.findings, want)
	}
}
