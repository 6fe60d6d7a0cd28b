package manifest

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// quantityPattern is that of every resource.Quantity. Ours are of bytes: rules leave out thousandths of bytes, and exponents, whose size nothing bounds.
const quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// form says in words what a pattern of the types asks for.
type form struct {
	must string
	// guesses are what somebody may have meant by a value; nil: nothing can be guessed. Only what has the form is said.
	guesses func(value string) []string
}

var forms = map[string]form{
	`^[a-z]([-a-z0-9]*[a-z0-9])?$`:                                              {`must be a name of lower-case letters, digits and "-", like "zone1"`, lowerCase},
	`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`:                                           {`must be a name of lower-case letters, digits and "-", like "zone1"`, lowerCase},
	`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`:                                          {`must be a name of lower-case letters, digits, "-" and ".", like "sriov-net"`, lowerCase},
	`^[a-z]([-a-z0-9]*[a-z0-9])?(\.[a-z]([-a-z0-9]*[a-z0-9])?)?$`:               {`must be a name, or a name and a port, like "rt.outside"`, lowerCase},
	`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`:                                {`must be a name of letters, digits, "-", "_" and ".", like "allow-web"`, noBlanks},
	`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`: {`must be an extended resource, like "intel.com/sriov_inside"`, nil},
	`^[A-Za-z_][A-Za-z0-9_]*$`:                                                  {`must be the name of a variable of letters, digits and "_", like "RULES"`, nil},
	`^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$`:                                      {`must be an Ethernet address, like "02:00:00:00:00:01"`, ethernet},
	`^(None|[0-9a-fA-F.:]+)$`:                                                   {`must be an address, a number, or "None" for VLAN`, none},
	`^[0-9A-Za-z]+$`:                                                            {`must be a protocol: a number up to 255, or one of icmp, igmp, ipip, tcp, udp, gre, esp, ah, ospf, sctp`, nil},
	`^[0-9]{1,5}(-[0-9]{1,5})?$`:                                                {`must be a port or a range of ports, like 80 or "1000-2000"`, spans},
	`^([0-9]{1,4}|None)$`:                                                       {`must be a VLAN from 1 to 4094, or "None" for untagged packets`, none},
	`^[0-9]{1,4}(-[0-9]{1,4})?$`:                                                {`must be a VLAN or a range of them, like 80 or "100-199"`, spans},
	`^([0-9]+(ms|s|m|h))+$`:                                                     {`must be a time span with its unit, like "30s" or "2h4m"`, times},
	`^[0-9]+(\.[0-9]+)? ?([kMG]?bit/s|[kM]?pps)$`:                               {`must be a rate, like "10 Mbit/s" or "5 kpps"`, rates},
	`^[0-9]+(\.[0-9]+)? ?[kM]?pps$`:                                             {`must be a rate of packets, like "200 kpps"`, rates},
	`^[0-9]+(k|Ki|[MG]i?)?$`:                                                    {`must be a number of bytes, or of packets if the rate is in packets, like "64Ki" or "1500"`, sizes},
	quantityPattern:                                                             {`must be an amount, like "512Mi" or "2Gi" of memory, or "500m" of CPUs`, sizes},
	`^/[!-~]*$`:                                                                 {`must be the path of a URL, like "/healthz"`, func(v string) []string { return []string{"/" + v} }},
	`^https?://[^/@?#\s]+/[^?#\s]+$`:                                            {`must be the URL of an object, like "https://routes.example.net/full.txt.gz", without user, "?" and "#"`, nil},
	`^[0-9a-f]{64}$`:                                                            {`must be a SHA-256 of 64 lower-case hexadecimal digits, as sha256sum prints it`, lowerCase},
	// Status, which users do not write.
	`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`: {`must be a reason of a condition, like "NoHugepages"`, nil},
	`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`: {`must be the type of a condition, like "Ready"`, nil},
}

// violated is what a value must be that has not the schema's form, with what may be meant.
func (s *schema) violated(value string) string {
	f := forms[s.Pattern]
	if f.guesses == nil || len(value) > maxGuessed {
		return f.must
	}
	var right []string
	for _, g := range f.guesses(strings.TrimSpace(value)) {
		if s.pattern.MatchString(g) && (s.MaxLength == nil || len(g) <= *s.MaxLength) {
			right = append(right, strconv.Quote(g))
		}
	}
	if len(right) == 0 {
		return f.must
	}
	return f.must + "; write " + strings.Join(right, " or ")
}

// maxGuessed bounds the values that are guessed at.
const maxGuessed = 128

func noBlanks(v string) []string { return []string{strings.Join(strings.Fields(v), "-")} }

func lowerCase(v string) []string {
	return []string{strings.Trim(strings.ToLower(strings.NewReplacer("_", "-", " ", "-").Replace(v)), "-")}
}

func none(v string) []string {
	if strings.EqualFold(v, "none") {
		return []string{"None"}
	}
	return nil
}

// ethernet reads the ways of other vendors: 0011.2233.4455, 00-11-22-33-44-55, 001122334455.
func ethernet(v string) []string {
	digits := strings.NewReplacer(".", "", "-", "", ":", "", " ", "").Replace(v)
	if len(digits) != 12 {
		return nil
	}
	var pairs []string
	for ; digits != ""; digits = digits[2:] {
		pairs = append(pairs, digits[:2])
	}
	return []string{strings.Join(pairs, ":")}
}

// spans reads ranges as other tools write them: 80:90, 80..90, 80 - 90.
func spans(v string) []string {
	return []string{strings.NewReplacer(" ", "", ":", "-", "..", "-", "–", "-").Replace(v)}
}

// times reads seconds without a unit, and parts and days, which there are not.
func times(v string) []string {
	v = strings.ReplaceAll(v, " ", "")
	if days, ok := strings.CutSuffix(v, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return []string{strconv.FormatUint(24*n, 10) + "h"}
		}
	}
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		long := span(time.Duration(n) * time.Second)
		if long == v+"s" {
			return []string{long}
		}
		return []string{v + "s", long}
	}
	if d, err := time.ParseDuration(v); err == nil {
		return []string{span(d)}
	}
	return nil
}

// span is a time span without parts that are zero.
func span(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

var quantity = regexp.MustCompile(`^([0-9]+) ?([kmgKMG])i?[bB]?$`)

// sizes reads 512MB, 512M, 2 gib.
func sizes(v string) []string {
	m := quantity.FindStringSubmatch(v)
	if m == nil {
		return nil
	}
	unit := strings.ToUpper(m[2])
	return []string{m[1] + unit + "i"}
}

var speed = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([kKmMgG]?)(bit|b|bps|bit/s|b/s|bits/s|pps|p/s)$`)

// rates reads 10mbit, 10Mbps, 5Kpps.
func rates(v string) []string {
	m := speed.FindStringSubmatch(v)
	if m == nil {
		return nil
	}
	prefix, unit := strings.ToUpper(m[2]), "bit/s"
	if prefix == "K" {
		prefix = "k"
	}
	if strings.HasPrefix(m[3], "p") {
		unit = "pps"
	}
	return []string{m[1] + " " + prefix + unit}
}
