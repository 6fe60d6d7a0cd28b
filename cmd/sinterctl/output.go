package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// choice is a flag with few values.
type choice struct {
	value  string
	values []string
}

var _ pflag.Value = &choice{}

func oneOf(values ...string) *choice { return &choice{values[0], values} }

// String implements pflag.Value.
func (c *choice) String() string { return c.value }

// Type implements pflag.Value.
func (c *choice) Type() string { return strings.Join(c.values, "|") }

// Set implements pflag.Value.
func (c *choice) Set(v string) error {
	if !slices.Contains(c.values, v) {
		return fmt.Errorf("want one of %s", strings.Join(c.values, ", "))
	}
	c.value = v
	return nil
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
