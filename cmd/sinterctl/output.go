package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
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

// print writes v as JSON or YAML if that is the choice, else what text writes.
func (c *choice) print(w io.Writer, v any, text func(io.Writer) error) error {
	switch c.value {
	case "json":
		return writeJSON(w, v)
	case "yaml":
		return writeYAML(w, v)
	}
	return text(w)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// writeYAML has the names and the shape of the JSON.
func writeYAML(w io.Writer, v any) error {
	text, err := yaml.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}
