package stores

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	// toConnect and toAnswer are how long a store may take until it begins with an object.
	toConnect = 5 * time.Second
	toAnswer  = 10 * time.Second
	// pause is how long a server that did not answer in time is left alone: many chains may want its texts, and each would wait for it.
	pause = 10 * time.Second
)

// silence is that a server did not answer in time.
type silence struct {
	since time.Time
	err   error
}

// client follows no redirections: they would lead out of the stores that may be read.
var client = &http.Client{Transport: transport(), CheckRedirect: func(r *http.Request, _ []*http.Request) error {
	return fmt.Errorf("it leads on to %s; give the URL of the object itself", r.URL.Redacted())
}}

func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: toConnect}).DialContext
	t.TLSHandshakeTimeout, t.ResponseHeaderTimeout = toConnect, toAnswer
	return t
}

// get reads an object.
func (s *Stores) get(ctx context.Context, object string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, object, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Encoding", "identity") // the hash is that of the object as it is stored
	if err := s.paused(request.URL.Host); err != nil {
		return nil, err
	}
	data, err := read(request)
	var late net.Error
	s.note(request.URL.Host, err, errors.As(err, &late) && late.Timeout())
	return data, err
}

func read(request *http.Request) ([]byte, error) {
	response, err := client.Do(request)
	if err != nil {
		var of *url.Error
		if errors.As(err, &of) { // whoever asks names the URL
			err = of.Err
		}
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the store answers %s", response.Status)
	}
	if response.ContentLength > maxObject {
		return nil, errTooLarge
	}
	var data bytes.Buffer
	data.Grow(int(max(response.ContentLength, 0)) + bytes.MinRead)
	if _, err = data.ReadFrom(io.LimitReader(response.Body, maxObject+1)); err != nil {
		return nil, fmt.Errorf("the object breaks off: %w", err)
	}
	if data.Len() > maxObject {
		return nil, errTooLarge
	}
	return data.Bytes(), nil
}

var errTooLarge = fmt.Errorf("the object has more than %d bytes", maxObject)

// paused tells why a server is not asked now; nil: it is.
func (s *Stores) paused(server string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was, ok := s.silent[server]; ok {
		if ago := time.Since(was.since); ago < pause {
			return fmt.Errorf("the store did not answer %s ago, and is left alone for %s: %w", ago.Round(time.Second), pause, was.err)
		}
	}
	return nil
}

// note notes whether a server answered in time.
func (s *Stores) note(server string, err error, late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !late {
		delete(s.silent, server)
		return
	}
	if s.silent == nil {
		s.silent = map[string]silence{}
	}
	s.silent[server] = silence{time.Now(), err}
}
