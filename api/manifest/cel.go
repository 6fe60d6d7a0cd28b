package manifest

import (
	"fmt"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
)

// celRule is a CEL rule of a CRD: true for what is right.
type celRule struct {
	Rule    string `json:"rule"`
	Message string `json:"message"`

	program cel.Program
}

var celEnv = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(cel.Variable("self", cel.DynType), quantities)
})

func (r *celRule) compile() error {
	env, err := celEnv()
	if err != nil {
		return err
	}
	ast, issues := env.Compile(r.Rule)
	if issues.Err() != nil {
		return fmt.Errorf("rule %q: %w", r.Rule, issues.Err())
	}
	r.program, err = env.Program(ast)
	return err
}

// violated tells what is wrong with a value; empty: nothing.
func (r *celRule) violated(self any) string {
	result, _, err := r.program.Eval(map[string]any{"self": self})
	switch {
	case err != nil:
		return fmt.Sprintf("%s (%v)", r.Message, err)
	case result != types.True:
		return r.Message
	}
	return ""
}
