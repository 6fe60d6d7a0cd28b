package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/stores"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// maxTexts bounds the bytes of all texts of a chain that come from stores, unpacked: four tables of the Internet. To compile them takes about twelve
// times as much memory.
const maxTexts = 64 << 20

// Stores are the stores that chains may take texts from. They are for concurrent use.
type Stores struct {
	texts stores.Stores
}

// NewStores are stores with objects whose URLs begin with one of those allowed.
func NewStores(allowed ...string) *Stores {
	return &Stores{
		// A text is read by the webhook, and then by the controller.
		texts: stores.Stores{Allowed: append([]string{}, allowed...), Named: "the chart's value stores.urls", Keep: maxTexts},
	}
}

// stored are texts of a chain, or why there are none.
type stored struct {
	of    map[v1alpha1.StoreObject]text
	bytes int
}

type text struct {
	data []byte
	err  error
}

// read reads the texts that a chain takes from stores.
func (s *Stores) read(ctx context.Context, objects []*v1alpha1.StoreObject, patience time.Duration) stored {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out := stored{of: map[v1alpha1.StoreObject]text{}}
	for _, o := range objects {
		t, known := out.of[*o]
		if !known {
			t.data, t.err = s.text(ctx, o)
		}
		if t.err == nil {
			if out.bytes+len(t.data) > maxTexts {
				t.data, t.err = nil, fmt.Errorf("with this text, those that the chain takes from stores have more than %d bytes together: divide the chain", maxTexts)
			}
			out.bytes += len(t.data)
		}
		out.of[*o] = t
	}
	return out
}

func (s *Stores) text(ctx context.Context, o *v1alpha1.StoreObject) ([]byte, error) {
	data, err := s.texts.Text(ctx, o.URL, o.SHA256)
	var refused *stores.RefusedError
	if err != nil && !errors.As(err, &refused) {
		return nil, finding.Missing(err.Error()) // it may come
	}
	return data, err
}

// Text is the text of one of the objects.
func (s *stored) text(o *v1alpha1.StoreObject) ([]byte, error) {
	t := s.of[*o]
	return t.data, t.err
}
