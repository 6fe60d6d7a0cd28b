package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// tolerance is by how much a ratio may exceed a stored one.
const tolerance = 1.03

// worse tells whether a row costs more than it did: the median by more than the tolerance, and no value of either interval is in both.
func worse(stored, now *result) bool {
	return now.Ratio > stored.Ratio*tolerance && now.Interval.Low > stored.Interval.High
}

// readStored are the results of a file that report wrote, by their rows' names.
func readStored(path string) (map[string]result, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []result
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	stored := map[string]result{}
	for _, r := range list {
		stored[r.Name] = r
	}
	return stored, nil
}

// check measures rows beside their stored results. A row that seems worse is measured again with twice the passes, as a machine has bad seconds.
func check(ctx context.Context, list []row, stored map[string]result, measure func(context.Context, row, int) (*result, error), passes int) error {
	var bad []string
	for _, row := range list {
		before, ok := stored[row.Name]
		if !ok {
			fmt.Fprintf(os.Stderr, "%-26s is not among the stored results\n", row.Name)
			continue
		}
		var now *result
		for _, n := range []int{passes, 2 * passes} {
			var err error
			if now, err = measure(ctx, row, n); err != nil {
				return fmt.Errorf("%s: %w", row.Name, err)
			}
			if !worse(&before, now) {
				break
			}
		}
		line := fmt.Sprintf("%.2f × %s (%v), stored %.2f (%v), %+.1f %%",
			now.Ratio, now.Mode, now.Interval, before.Ratio, before.Interval, 100*(now.Ratio/before.Ratio-1))
		fmt.Fprintf(os.Stderr, "%-26s %s\n", row.Name, line)
		if worse(&before, now) {
			bad = append(bad, row.Name+": "+line)
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("slower than stored by more than %.0f %%: %s", 100*(tolerance-1), strings.Join(bad, "; "))
	}
	return nil
}
