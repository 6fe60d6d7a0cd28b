package rules_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func TestARangeIsTheFewestPrefixesThatMakeItUp(t *testing.T) {
	tests := map[string]string{
		"10.0.0.0-10.0.0.255":     "[10.0.0.0/24]",
		"10.0.0.1-10.0.0.6":       "[10.0.0.1/32 10.0.0.2/31 10.0.0.4/31 10.0.0.6/32]",
		"0.0.0.0-255.255.255.255": "[0.0.0.0/0]",
		"255.255.255.255":         "[255.255.255.255/32]",
		"192.0.2.0/25":            "[192.0.2.0/25]",
		"10.0.0.255-10.0.1.0":     "[10.0.0.255/32 10.0.1.0/32]",
	}
	for text, want := range tests {
		r, problem := rules.ParseAddressSet(text)
		if problem != nil {
			t.Fatalf("%s: %+v", text, problem)
		}
		prefixes := r.Prefixes()
		if got := fmt.Sprint(prefixes); got != want {
			t.Errorf("%s is %s, wanted %s", text, got, want)
		}
		var all headerspace.Set
		for _, p := range prefixes {
			all = all.Union(headerspace.Prefix(p))
		}
		if !all.Equal(r.Set()) {
			t.Errorf("the prefixes of %s hold other addresses: %s", text, all.Format(headerspace.Src))
		}
	}
}

func TestPrefixFilesMayBeCompressedAndHoldBothFamilies(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, "# table\n192.0.2.0/24\n2001:db8::/32\n\n198.51.100.7/25\n")
	z.Close()
	text, err := rules.Unpack(packed.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	list, problems := rules.Prefixes(text)
	want := fmt.Sprint([]netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/25")})
	if fmt.Sprint(list) != want {
		t.Errorf("the prefixes are %v, wanted %s", list, want)
	}
	if len(problems) != 1 || !problems[0].Warning || problems[0].Line != 5 {
		t.Errorf("problems are %+v, wanted a warning about the host bits in line 5", problems)
	}
	if _, err := rules.Unpack(packed.Bytes()[:20]); err == nil {
		t.Error("half a gzip file was taken for a whole one")
	}
}

func TestAPrefixOfAFileIsReadAsOneOfAField(t *testing.T) {
	digit := rapid.SampledFrom(strings.Split("0 1 2 3 9 10 24 25 31 32 33 128 255 256 01 00 999 1000 / . x : +1 -1", " "))
	rapid.Check(t, func(t *rapid.T) {
		n := func() string { return digit.Draw(t, "number") }
		line := n() + "." + n() + "." + n() + "." + n() + "/" + n()
		list, problems := rules.Prefixes([]byte(line))
		want, problem := rules.ParsePrefix(line)
		if problem == nil {
			if len(list) != 1 || list[0] != want || len(problems) > 0 {
				t.Fatalf("%s is read as %v with problems %v, want %v", line, list, problems, want)
			}
			return
		}
		if len(problems) != 1 || problems[0].Message != problem.Message || (len(list) == 1) != problem.Warning {
			t.Fatalf("%s is read as %v with problems %v, want %+v", line, list, problems, problem)
		}
	})
}
