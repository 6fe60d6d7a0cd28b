// Package stores reads texts that are too large for the API server from stores: servers that answer HTTP GET. Operator, agents and command line read
// the same ones, as a text is known by its hash.
package stores

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/sinter-nfv/sinter/api/rules"
)

// maxObject bounds what a store sends, and what that unpacks to. A table of the Internet is 14 MB.
const maxObject = 64 << 20

// patience is how long a store may take for an object.
const patience = 30 * time.Second

// Stores are the stores that may be read. The zero value reads any. It is for concurrent use.
type Stores struct {
	// Allowed are URLs; an object's URL must begin with one of them, by whole names of folders. Nil: any may be read.
	Allowed []string
	// Named is how they are named, for messages.
	Named string
	// Keep is how many bytes of texts are remembered.
	Keep int

	mu     sync.Mutex
	texts  map[string][]byte // by hash of the object
	order  []string          // the oldest first
	bytes  int
	silent map[string]silence // by server
}

// RefusedError says that a URL may not be read, so that asking again is of no use.
type RefusedError struct{ Message string }

func (e *RefusedError) Error() string { return e.Message }

// Text is the unpacked text of the object with the hash. What is remembered is not read again.
func (s *Stores) Text(ctx context.Context, object, hash string) ([]byte, error) {
	if err := s.allows(object); err != nil {
		return nil, err
	}
	if text, ok := s.known(hash); ok {
		return text, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	data, err := s.get(ctx, object)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != hash {
		return nil, fmt.Errorf("the object has the SHA-256 %x, want %s: it is not the one that is meant, or not whole", sum, hash)
	}
	text, err := rules.UnpackAtMost(data, maxObject)
	if err != nil {
		return nil, err
	}
	s.keep(hash, text)
	return text, nil
}

// CheckAllowed tells what is wrong with a URL that stands for stores that may be read.
func CheckAllowed(store string) error {
	u, err := url.Parse(store)
	switch {
	case err != nil:
		return err
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("want a URL such as https://routes.example.net/tables/, of http or https, without user, query and fragment")
	}
	return nil
}

// allows tells whether an object may be read.
func (s *Stores) allows(object string) error {
	u, err := url.Parse(object)
	if err == nil {
		err = CheckAllowed(object)
	}
	switch {
	case err != nil:
		return &RefusedError{err.Error()}
	case u.Path != path.Clean(u.Path) || u.RawPath != "":
		return &RefusedError{"want a path without empty parts, without \".\" and \"..\", and without escaped slashes"}
	case s.Allowed == nil:
		return nil
	}
	for _, a := range s.Allowed {
		if of, err := url.Parse(a); err == nil && of.Scheme == u.Scheme && of.Host == u.Host && strings.HasPrefix(u.Path, strings.TrimSuffix(of.Path, "/")+"/") {
			return nil
		}
	}
	if len(s.Allowed) == 0 {
		if s.Named == "" {
			return &RefusedError{"no stores may be read here"}
		}
		return &RefusedError{"no stores may be read; name them by " + s.Named}
	}
	return &RefusedError{"the store may not be read; those that may are " + strings.Join(s.Allowed, ", ") + ", named by " + s.Named}
}

func (s *Stores) known(hash string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.texts[hash]
	return text, ok
}

// keep remembers a text, and forgets the oldest ones.
func (s *Stores) keep(hash string, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.texts = map[string][]byte{}
	}
	if _, ok := s.texts[hash]; ok {
		return
	}
	s.texts[hash], s.order, s.bytes = text, append(s.order, hash), s.bytes+len(text)
	for s.bytes > s.Keep {
		oldest := s.order[0]
		s.order, s.bytes = s.order[1:], s.bytes-len(s.texts[oldest])
		delete(s.texts, oldest)
	}
}
