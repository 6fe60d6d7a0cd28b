package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/test/agenttest"
)

func TestAConnectionThatIsOverIsMadeAnewWhateverTheErrorSays(t *testing.T) {
	e := &Engine{Socket: agenttest.Start(t, filepath.Join(agenttest.Folder(t), "s"), agenttest.Quiet).Socket}
	t.Cleanup(e.Close)
	for name, err := range map[string]error{
		"a refusal":      &control.EngineError{Request: "take shards", Message: "no memory"},
		"no question":    fmt.Errorf("stats: %w", control.ErrNotAsked),
		"nothing at all": nil,
	} {
		if _, err := e.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, _, _ = ask(t.Context(), e, AnswerTimeout, func(_ context.Context, c *control.Client) (struct{}, error) {
			return struct{}{}, errors.Join(err, c.Close())
		})
		if fresh, err := e.Connect(t.Context()); !fresh || err != nil {
			t.Errorf("%s: connected again: %t, %v; want a new connection", name, fresh, err)
		}
		if _, err := e.Stats(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
