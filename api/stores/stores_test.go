package stores

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// store is a server with some objects, which counts what it is asked for.
func store(t *testing.T, objects map[string][]byte) (base string, asked *int) {
	t.Helper()
	asked = new(int)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked++
		data, ok := objects[r.URL.Path]
		switch {
		case r.URL.Path == "/away":
			http.Redirect(w, r, "/tables/plain", http.StatusFound)
		case !ok:
			http.NotFound(w, r)
		default:
			_, _ = w.Write(data)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func packed(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAnObjectIsTakenOnlyIfItIsTheOneThatIsMeant(t *testing.T) {
	plain := []byte("198.51.100.0/24\n")
	zipped, bomb := packed(t, plain), packed(t, make([]byte, maxObject+1))
	base, _ := store(t, map[string][]byte{"/tables/plain": plain, "/tables/zipped": zipped, "/tables/bomb": bomb, "/tables/large": make([]byte, maxObject+1)})
	for name, c := range map[string]struct {
		path, hash string
		want       string // in the error; empty: the text
	}{
		"as it is":       {"/tables/plain", hashOf(plain), ""},
		"gzipped":        {"/tables/zipped", hashOf(zipped), ""},
		"another one":    {"/tables/plain", hashOf(zipped), "the object has the SHA-256 " + hashOf(plain) + ", want " + hashOf(zipped)},
		"not there":      {"/tables/none", hashOf(plain), "the store answers 404 Not Found"},
		"somewhere else": {"/away", hashOf(plain), "it leads on to"},
		"a bomb":         {"/tables/bomb", hashOf(bomb), "more than 67108864 bytes when unpacked"},
		"too large":      {"/tables/large", hashOf(plain), "the object has more than 67108864 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := (&Stores{}).Text(t.Context(), base+c.path, c.hash)
			switch {
			case c.want == "" && (err != nil || !bytes.Equal(text, plain)):
				t.Errorf("got %q, %v", text, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestOnlyStoresThatAreNamedAreRead(t *testing.T) {
	text := []byte("198.51.100.0/24\n")
	base, asked := store(t, map[string][]byte{"/tables/a": text, "/tables-of-others/a": text})
	s := &Stores{Allowed: []string{base + "/tables/"}}
	if _, err := s.Text(t.Context(), base+"/tables/a", hashOf(text)); err != nil {
		t.Error(err)
	}
	*asked = 0
	for _, url := range []string{
		base + "/tables-of-others/a", base + "/tables", base + "/tables/../tables-of-others/a", base + "/tables/%2e%2e/tables-of-others/a", base + "//tables/a",
		base + "/tables/a?x=1", base + "/tables/a#b", strings.Replace(base, "http://", "http://me@", 1) + "/tables/a", strings.Replace(base, "http", "https", 1) + "/tables/a",
		"http://127.0.0.1.example/tables/a", "file:///etc/passwd", "/tables/a",
	} {
		var refused *RefusedError
		if _, err := s.Text(t.Context(), url, hashOf(text)); !errors.As(err, &refused) {
			t.Errorf("%s: %v, want a refusal", url, err)
		}
	}
	none := &Stores{Allowed: []string{}}
	if _, err := none.Text(t.Context(), base+"/tables/a", hashOf(text)); err == nil || !strings.Contains(err.Error(), "no stores may be read") {
		t.Errorf("without stores: %v", err)
	}
	if *asked > 0 {
		t.Errorf("the server was asked %d times, want never", *asked)
	}
}

// A store that does not answer is waited for by who asks first, and not by all others, too.
func TestASilentStoreIsWaitedForOnce(t *testing.T) {
	text := []byte("198.51.100.0/24\n")
	var asked atomic.Int64
	silent := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path == "/silent" {
			<-silent
		}
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(silent) })
	s := &Stores{}
	read := func(path string) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Text(ctx, server.URL+path, hashOf(text))
		return err
	}
	if err := read("/silent"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a store that does not answer: %v, want that time is over", err)
	}
	if err := read("/a"); err == nil || !strings.Contains(err.Error(), "the store did not answer") || !strings.Contains(err.Error(), "is left alone for 10s: ") {
		t.Errorf("just after: %v, want that the store is left alone", err)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the store was asked %d times, want once", n)
	}
	for server, was := range s.silent {
		s.silent[server] = silence{was.since.Add(-pause), was.err}
	}
	if err := read("/a"); err != nil || len(s.silent) > 0 {
		t.Errorf("later: %v, silent %v; want the text", err, s.silent)
	}
}

func TestTextsAreRememberedUpToABound(t *testing.T) {
	objects := map[string][]byte{}
	for i := range 4 {
		objects[fmt.Sprintf("/%d", i)] = bytes.Repeat([]byte{byte('0' + i)}, 100)
	}
	base, asked := store(t, objects)
	s := &Stores{Keep: 250}
	read := func(i int) {
		t.Helper()
		path := fmt.Sprintf("/%d", i)
		if text, err := s.Text(t.Context(), base+path, hashOf(objects[path])); err != nil || !bytes.Equal(text, objects[path]) {
			t.Fatalf("%s: %q, %v", path, text, err)
		}
	}
	for _, c := range []struct{ object, asked int }{{0, 1}, {1, 2}, {0, 2}, {2, 3}, {1, 3}, {2, 3}, {0, 4}, {2, 4}, {1, 5}} {
		read(c.object)
		if *asked != c.asked {
			t.Errorf("after object %d the store was asked %d times, want %d", c.object, *asked, c.asked)
		}
	}
}
