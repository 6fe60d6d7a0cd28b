package health

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
)

// Dial opens a connection, as net.Dialer's DialContext.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Probe checks a backend once; nil: it is healthy.
func (d Dial) Probe(ctx context.Context, c Check) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	if c.Path != "" {
		return d.ask(ctx, c)
	}
	conn, err := d(ctx, "tcp4", c.To.String())
	if err != nil {
		return err
	}
	return conn.Close()
}

// maxHeader bounds what a backend may send before the body.
const maxHeader = 64 << 10

// ask asks for a path. It follows no redirects, and uses each connection once.
func (d Dial) ask(ctx context.Context, c Check) error {
	client := http.Client{
		Transport:     &http.Transport{DialContext: d, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.To.String()+c.Path, http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "sinter-health")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_, _ = io.CopyN(io.Discard, response.Body, 4096) // the status has said it
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode < 200 || response.StatusCode > 399 {
		return fmt.Errorf("HTTP status %d, want 200 to 399", response.StatusCode)
	}
	return nil
}
