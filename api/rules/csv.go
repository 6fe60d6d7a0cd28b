package rules

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// columns of a CSV file: what a cell sets in a rule. Cells are not empty.
var columns = map[string]func(*csvRule, string) (message string){
	"name": func(r *csvRule, s string) string {
		r.name = s
		return ""
	},
	"action": func(r *csvRule, s string) string {
		r.action = v1alpha1.Action(s)
		switch r.action {
		case v1alpha1.ActionAccept, v1alpha1.ActionDrop, v1alpha1.ActionReject:
			return ""
		}
		return "not an action; write Accept, Drop or Reject"
	},
	"from": func(r *csvRule, s string) string {
		r.from = v1alpha1.Side(s)
		if r.from != v1alpha1.SideInside && r.from != v1alpha1.SideOutside {
			return "not a side; write Inside or Outside, or leave it empty for both"
		}
		return ""
	},
	"source": func(r *csvRule, s string) string {
		r.match.Source = addressSets(s)
		return ""
	},
	"destination": func(r *csvRule, s string) string {
		r.match.Destination = addressSets(s)
		return ""
	},
	"protocol": func(r *csvRule, s string) string {
		v := intstr.FromString(s)
		r.match.Protocol = &v
		return ""
	},
	"sourcePorts": func(r *csvRule, s string) string {
		r.match.SourcePorts = portRanges(s)
		return ""
	},
	"destinationPorts": func(r *csvRule, s string) string {
		r.match.DestinationPorts = portRanges(s)
		return ""
	},
	"tcpFlags": func(r *csvRule, s string) string {
		r.match.TCPFlags = &v1alpha1.TCPFlags{}
		for _, f := range strings.Fields(s) {
			if clear, ok := strings.CutPrefix(f, "!"); ok {
				r.match.TCPFlags.Clear = append(r.match.TCPFlags.Clear, v1alpha1.TCPFlag(clear))
			} else {
				r.match.TCPFlags.Set = append(r.match.TCPFlags.Set, v1alpha1.TCPFlag(f))
			}
		}
		return ""
	},
	"icmpType": func(r *csvRule, s string) string { return number(&r.match.ICMPType, s) },
	"icmpCode": func(r *csvRule, s string) string { return number(&r.match.ICMPCode, s) },
	"dscp":     func(r *csvRule, s string) string { return number(&r.match.DSCP, s) },
	"vlan": func(r *csvRule, s string) string {
		v := intstr.FromString(s)
		r.match.VLAN = &v
		return ""
	},
}

type csvRule struct {
	name   string
	action v1alpha1.Action
	from   v1alpha1.Side
	match  v1alpha1.Match
}

func addressSets(s string) []v1alpha1.AddressSet {
	var out []v1alpha1.AddressSet
	for _, f := range strings.Fields(s) {
		out = append(out, v1alpha1.AddressSet(f))
	}
	return out
}

func portRanges(s string) []intstr.IntOrString {
	var out []intstr.IntOrString
	for _, f := range strings.Fields(s) {
		out = append(out, intstr.FromString(f))
	}
	return out
}

func number(to **int32, s string) string {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return "not a number"
	}
	v := int32(n)
	*to = &v
	return ""
}

// CSV reads rules of a comma-separated file (RFC 4180). The header line names
// the columns, any of: action, from, source, destination, protocol, sourcePorts, destinationPorts,
// tcpFlags ("SYN !ACK"), icmpType, icmpCode, dscp, vlan, name. Lists are separated by spaces. An empty
// cell sets nothing. Lines that start with # are comments.
func CSV(data []byte) ([]Rule, []Problem) {
	var bad problems
	r := csv.NewReader(bytes.NewReader(data))
	r.Comment = '#'
	r.TrimLeadingSpace = true
	r.FieldsPerRecord = -1 // checked here: the message should say what is right
	header, ok := csvHeader(r, &bad)
	if !ok {
		return nil, bad.list
	}
	var rules []Rule
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rules, bad.list
		}
		if err != nil {
			bad.add(csvProblem(err))
			return rules, bad.list
		}
		line, _ := r.FieldPos(0)
		rule, found := csvRecord(header, record)
		rule.Line = line
		fatal := false
		for _, p := range found {
			p.Line = line
			fatal = fatal || !p.Warning
			if !bad.add(p) && fatal {
				return rules, bad.list
			}
		}
		if !fatal {
			rules = append(rules, rule)
		}
	}
}

func csvHeader(r *csv.Reader, bad *problems) ([]string, bool) {
	known := make([]string, 0, len(columns))
	for c := range columns {
		known = append(known, c)
	}
	slices.Sort(known)
	header, err := r.Read()
	switch {
	case errors.Is(err, io.EOF):
		bad.add(Problem{Line: 1, Message: "the file is empty; its first line must name the columns: " + strings.Join(known, ", ")})
		return nil, false
	case err != nil:
		bad.add(csvProblem(err))
		return nil, false
	}
	line, _ := r.FieldPos(0)
	for i, c := range header {
		header[i] = strings.TrimSpace(c)
		if columns[header[i]] == nil {
			bad.add(Problem{Line: line, Field: "header", Value: header[i], Message: "unknown column" + finding.DidYouMean(header[i], known)})
		} else if slices.Contains(header[:i], header[i]) {
			bad.add(Problem{Line: line, Field: "header", Value: header[i], Message: "the column is there twice; leave one out"})
		}
	}
	if len(bad.list) == 0 && !slices.Contains(header, "action") {
		bad.add(Problem{Line: line, Field: "header", Message: "the column action is missing; every rule needs Accept or Drop"})
	}
	return header, len(bad.list) == 0
}

func csvProblem(err error) Problem {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return Problem{Line: parse.Line, Message: fmt.Sprintf("not a line of CSV: %v in column %d", parse.Err, parse.Column)}
	}
	return Problem{Message: err.Error()}
}

func csvRecord(header, record []string) (Rule, []Problem) {
	if len(record) != len(header) {
		return Rule{}, []Problem{{Value: strings.Join(record, ","), Message: fmt.Sprintf("has %d cells; the header names %d columns", len(record), len(header))}}
	}
	var (
		rule  csvRule
		found []Problem
	)
	for i, cell := range record {
		if cell = strings.TrimSpace(cell); cell == "" {
			continue
		}
		if message := columns[header[i]](&rule, cell); message != "" {
			found = append(found, Problem{Field: header[i], Value: cell, Message: message})
		}
	}
	if rule.action == "" {
		found = append(found, Problem{Field: "action", Message: "is empty; write Accept or Drop"})
	}
	filter, more := Filter(&rule.match)
	return Rule{Name: rule.name, Action: rule.action, From: rule.from, Filter: filter}, append(found, more...)
}
