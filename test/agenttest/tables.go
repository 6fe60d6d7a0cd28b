package agenttest

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/stores"
	"github.com/sinter-nfv/sinter/dataplane/compiler"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/tables"
)

// Store is a server of texts.
type Store struct {
	URL   string
	Asked atomic.Int64 // requests

	mu    sync.Mutex
	texts map[string][]byte // by path
}

// NewStore starts a store.
func NewStore(t testing.TB) *Store {
	t.Helper()
	s := &Store{texts: map[string][]byte{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Asked.Add(1)
		s.mu.Lock()
		text, ok := s.texts[r.URL.Path]
		s.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Put keeps a text, and says how a chain names it.
func (s *Store) Put(name string, text []byte) (field string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts["/"+name] = text
	return fmt.Sprintf("store: {url: %q, sha256: \"%x\"}", s.URL+"/"+name, sha256.Sum256(text))
}

// Remove forgets a text.
func (s *Store) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.texts, "/"+name)
}

// Stored is the program of a chain as the operator delivers it: with tables of routes by their hashes.
func Stored(t testing.TB, text string) *delivery.Program {
	t.Helper()
	b, found := manifest.Options{Stores: &stores.Stores{}}.Parse("chain.yaml", []byte(text), os.ReadFile)
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	p, _, err := compiler.Compile(compiler.Sources{Chain: b.Chains[0], Functions: b.Functions, Files: b.Files, Tables: &tables.Memory{}})
	if err != nil {
		t.Fatal(err)
	}
	checked, err := delivery.Check(p.Encoded, p.Hash)
	if err != nil {
		t.Fatal(err)
	}
	return checked
}
