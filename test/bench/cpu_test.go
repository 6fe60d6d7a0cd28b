package main

import "testing"

func TestAReportNamesTheProcessors(t *testing.T) {
	for _, c := range []struct {
		results []result
		want    string
	}{
		{[]result{{Name: "a", CPU: "X", Mpps: 25, Cycles: 100}, {Name: "b", CPU: "X", Mpps: 50, Cycles: 50}}, "All rows were measured on X, TSC 2.50 GHz.\n"},
		{
			[]result{{Name: "a", CPU: "Y"}, {Name: "b", CPU: "X"}, {Name: "c", CPU: "X"}, {Name: "d"}},
			"Rows not named here were measured on X.\na: measured on Y.\nd: measured on a processor that was not noted.\n",
		},
	} {
		if got := cpus(c.results); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if cpu() == "" {
		t.Error("this processor has no name")
	}
}
