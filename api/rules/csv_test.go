package rules_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/api/rules"
)

func TestACSVFileMayNameItsColumnsInAnyOrder(t *testing.T) {
	const text = "destinationPorts, action, tcpFlags, name, source\n" +
		"\"80 8000-8099\",Accept,SYN !ACK,web,10.0.0.0/8 192.0.2.1\n" +
		"# comment\n" +
		",Drop,,,\n"
	list, problems := rules.CSV([]byte(text))
	if len(problems) > 0 || len(list) != 2 {
		t.Fatalf("the file gives %d rules, problems %+v; wanted 2 rules", len(list), problems)
	}
	if list[0].Name != "web" || list[0].Action != "Accept" || list[0].Line != 2 || list[1].Line != 4 {
		t.Errorf("the rules are %+v", list)
	}
	const want = "src=10.0.0.0/8,192.0.2.1 dport=80,8000-8099 tcp-flags="
	if got := list[0].Filter.String(); len(got) < len(want) || got[:len(want)] != want {
		t.Errorf("the first rule matches %s, wanted %s…", got, want)
	}
	if got := list[1].Filter.String(); got != "any" {
		t.Errorf("a rule with empty cells matches %s, wanted any", got)
	}
}

func TestABadCSVLineIsToldWithItsNumberAndWhatWouldBeRight(t *testing.T) {
	tests := map[string]struct {
		text string
		want rules.Problem
	}{
		"an empty file": {"", rules.Problem{
			Line: 1, Message: "the file is empty; its first line must name the columns: action, destination, destinationPorts, dscp, from, icmpCode, icmpType, name, protocol, source, sourcePorts, tcpFlags, vlan",
		}},
		"no actions": {"source\n10.0.0.0/8\n", rules.Problem{
			Line: 1, Field: "header", Message: "the column action is missing; every rule needs Accept or Drop",
		}},
		"a column twice": {"action,action\n", rules.Problem{
			Line: 1, Field: "header", Value: "action", Message: "the column is there twice; leave one out",
		}},
		"too few cells": {"action,source\n\nDrop\n", rules.Problem{
			Line: 3, Value: "Drop", Message: "has 1 cells; the header names 2 columns",
		}},
		"a quote that is not closed": {"action\n\"Drop\n", rules.Problem{
			Line: 2, Message: "not a line of CSV: extraneous or missing \" in quoted-field in column 7",
		}},
		"no action in a line": {"action,dscp\n,5\n", rules.Problem{
			Line: 2, Field: "action", Message: "is empty; write Accept or Drop",
		}},
		"an unknown flag": {"action,tcpFlags\nDrop,SIN\n", rules.Problem{
			Line: 2, Field: "tcpFlags.set[0]", Value: "SIN", Message: "unknown TCP flag; use FIN, SYN, RST, PSH, ACK, URG, ECE or CWR",
		}},
		"a number too large": {"action,dscp\nDrop,64\n", rules.Problem{
			Line: 2, Field: "dscp", Value: "64", Message: "must be from 0 to 63",
		}},
		"a reversed range": {"action,sourcePorts\nDrop,9-1\n", rules.Problem{
			Line: 2, Field: "sourcePorts[0]", Value: "9-1", Message: "the port range is reversed; write 1-9",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, problems := rules.CSV([]byte(test.text))
			if len(problems) != 1 || problems[0] != test.want {
				t.Errorf("problems are %+v, wanted %+v", problems, test.want)
			}
		})
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("name,action,from,source,destination,protocol,sourcePorts,destinationPorts,tcpFlags,icmpType,icmpCode,dscp,vlan\nx,Drop,Inside,10.0.0.0/8,,tcp,1-2,3,SYN !ACK,,,0,None\n")
	f.Add("action\n\"Dr\nop\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, problems := rules.CSV([]byte(text))
		checkFile(t, text, list, problems)
	})
}
