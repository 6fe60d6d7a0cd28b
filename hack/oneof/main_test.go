package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const before = `package v1

// FunctionKinds has the kinds.
type FunctionKinds struct {
	// +optional
	Firewall *int ` + "`json:\"firewall,omitempty\"`" + `
	// +optional
	NAPT *int ` + "`json:\"napt,omitempty\"`" + `
}

// Function is one of them.
// +kubebuilder:validation:XValidation:rule="has(self.firewall)",message="set exactly one of firewall"
type Function struct {
	// +required
	Name string ` + "`json:\"name,omitempty\"`" + `

	FunctionKinds ` + "`json:\",inline\"`" + `

	// +optional
	Ref *int ` + "`json:\"ref,omitempty\"`" + `
}
`

func TestARuleListsTheKindsAndWhatIsOptionalBesideThem(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "function_types.go")
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(folder); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(before, `rule="has(self.firewall)",message="set exactly one of firewall"`,
		`rule="[has(self.firewall), has(self.napt), has(self.ref)].filter(x, x).size() == 1",message="set exactly one of firewall, napt, ref"`, 1)
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestATypeWithoutARuleIsRefused(t *testing.T) {
	text := before + "\n// Bare has none.\ntype Bare struct {\n\tFunctionKinds `json:\",inline\"`\n}\n"
	_, err := rewrite(map[string][]byte{"function_types.go": []byte(text)})
	if err == nil || !strings.Contains(err.Error(), "type Bare embeds FunctionKinds") {
		t.Errorf("got %v, want an error that names Bare", err)
	}
}
