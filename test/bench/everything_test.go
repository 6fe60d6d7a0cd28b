package main

import "testing"

func TestShortHasARowOfEachGroup(t *testing.T) {
	groups, short := map[string]bool{}, map[string]bool{}
	for _, r := range rows(dataFolder) {
		groups[r.Group] = true
	}
	list := firsts(rows(dataFolder))
	for _, r := range list {
		short[r.Group] = true
	}
	if len(short) != len(groups) || len(list) > len(groups)+len(latencyRows) {
		t.Errorf("%d rows of %d groups, want all %d groups", len(list), len(short), len(groups))
	}
}
