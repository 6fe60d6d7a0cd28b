package lifecycle

import (
	"encoding/json"
	"os"

	"github.com/sinter-nfv/sinter/dataplane/binding"
)

// ReadBinding reads what exec-engine started the engine with; nil if it did not.
func ReadBinding(path string) *binding.Plan {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var p binding.Plan
	if json.Unmarshal(b, &p) != nil {
		return nil
	}
	return &p
}

// WriteBinding says what the engine is started with.
func WriteBinding(path string, p *binding.Plan) error {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	fresh := path + ".new"
	if err := os.WriteFile(fresh, b, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}
