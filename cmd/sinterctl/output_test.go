package main

import (
	"testing"

	"sigs.k8s.io/yaml"
)

func TestYAMLSaysTheSameAsJSON(t *testing.T) {
	packet := []string{"explain", office, "--in", "inside", "--src", "10.0.0.7", "--dst", "203.0.113.5"}
	for _, args := range [][]string{{"synth", office}, packet} {
		t.Run(args[0], func(t *testing.T) {
			asJSON, _, err := sinterctl(t, append(args, "-o", "json")...)
			if err != nil {
				t.Fatal(err)
			}
			asYAML, _, err := sinterctl(t, append(args, "-o", "yaml")...)
			if err != nil {
				t.Fatal(err)
			}
			same, err := yaml.JSONToYAML([]byte(asJSON))
			if err != nil || string(same) != asYAML {
				t.Errorf("as YAML it says\n%.500s\nwant\n%.500s\nerror %v", asYAML, same, err)
			}
		})
	}
}
