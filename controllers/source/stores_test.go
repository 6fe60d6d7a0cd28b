package source

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// serve is a server with texts; what is asked for under /silent never comes.
func serve(t *testing.T, texts map[string][]byte) (url string) {
	t.Helper()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/silent" {
			<-over
		}
		_, _ = w.Write(texts[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	return server.URL
}

func object(url string, text []byte) *v1alpha1.StoreObject {
	return &v1alpha1.StoreObject{URL: url, SHA256: fmt.Sprintf("%x", sha256.Sum256(text))}
}

func TestTextsOfAChainHaveABound(t *testing.T) {
	large, other := bytes.Repeat([]byte("198.51.100.0/24\n"), 2<<20), bytes.Repeat([]byte("203.0.113.0/24 \n"), 2<<20) // 32 MiB each
	url := serve(t, map[string][]byte{"/a": large, "/b": other, "/c": []byte("\n")})
	a, b, c := object(url+"/a", large), object(url+"/b", other), object(url+"/c", []byte("\n"))
	texts := NewStores(url+"/").read(t.Context(), []*v1alpha1.StoreObject{a, b, c}, time.Minute)
	for _, o := range []*v1alpha1.StoreObject{a, b} {
		if text, err := texts.text(o); err != nil || len(text) != 32<<20 {
			t.Errorf("%s: %d bytes, %v", o.URL, len(text), err)
		}
	}
	_, err := texts.text(c)
	if err == nil || !strings.Contains(err.Error(), "have more than 67108864 bytes together") || finding.CodeOf(err) == finding.NotFound {
		t.Errorf("one byte more: %v, want a refusal for good", err)
	}
	if texts.bytes != maxTexts {
		t.Errorf("the texts have %d bytes, want %d", texts.bytes, maxTexts)
	}
}

func TestASilentStoreKeepsNobodyForLong(t *testing.T) {
	url := serve(t, map[string][]byte{"/a": []byte("\n")})
	silent, other := object(url+"/silent", nil), object(url+"/a", []byte("\n"))
	texts := NewStores(url+"/").read(t.Context(), []*v1alpha1.StoreObject{silent, other}, 50*time.Millisecond)
	for _, o := range []*v1alpha1.StoreObject{silent, other} {
		if _, err := texts.text(o); finding.CodeOf(err) != finding.NotFound {
			t.Errorf("%s: %v, want that the text is missing", o.URL, err)
		}
	}
}
