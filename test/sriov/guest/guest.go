// Package guest runs programs in a QEMU guest by its guest agent, and resets the guest by QMP.
//
// Both speak JSON, a request and its answer per line
// (https://www.qemu.org/docs/master/interop/qemu-ga-ref.html, …/qemu-qmp-ref.html).
package guest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"
)

// Guest is a running guest. Its methods may be called concurrently.
type Guest struct {
	monitor string // socket of QMP

	mu    sync.Mutex
	agent *channel
}

// Dial connects to the guest whose sockets these are, and waits until its agent answers.
func Dial(ctx context.Context, agent, monitor string) (*Guest, error) {
	c, err := dial(ctx, agent)
	if err != nil {
		return nil, err
	}
	g := &Guest{monitor: monitor, agent: c}
	if err := g.Wait(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return g, nil
}

// Close ends the connection; the guest goes on.
func (g *Guest) Close() error { return g.agent.Close() }

// Wait waits until the agent answers, which it does not while the guest boots.
func (g *Guest) Wait(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for token := 1; ; token++ {
		// Answers to requests that were given up may still come: only the one with this token counts.
		try, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := g.agent.synchronize(try, token)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("guest agent: %w (last: %w)", ctx.Err(), err)
		}
	}
}

func (g *Guest) call(ctx context.Context, command string, arguments, answer any) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.agent.call(ctx, command, arguments, answer)
}

// Reset resets the guest as its button would: nothing is written back, nothing shut down.
func (g *Guest) Reset(ctx context.Context) error {
	c, err := dial(ctx, g.monitor)
	if err != nil {
		return err
	}
	defer c.Close()
	var greeting struct{ QMP any }
	if err := c.receive(ctx, &greeting); err != nil {
		return err
	}
	if err := c.call(ctx, "qmp_capabilities", nil, nil); err != nil {
		return err
	}
	return c.call(ctx, "system_reset", nil, nil)
}

// channel is a socket with requests and answers.
type channel struct {
	net.Conn
	lines *bufio.Reader
}

func dial(ctx context.Context, path string) (*channel, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	return &channel{conn, bufio.NewReader(conn)}, nil
}

type request struct {
	Execute   string `json:"execute"`
	Arguments any    `json:"arguments,omitempty"`
}

type response struct {
	Return json.RawMessage `json:"return"`
	Error  *struct {
		Desc string `json:"desc"`
	} `json:"error"`
}

func (c *channel) call(ctx context.Context, command string, arguments, answer any) error {
	if err := c.send(ctx, command, arguments); err != nil {
		return err
	}
	for {
		var r response
		if err := c.receive(ctx, &r); err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		switch {
		case r.Error != nil:
			return fmt.Errorf("%s: %s", command, r.Error.Desc)
		case r.Return == nil: // an event of QMP
		case answer == nil:
			return nil
		default:
			return json.Unmarshal(r.Return, answer)
		}
	}
}

// synchronize makes sure that the next answer is the next request's.
func (c *channel) synchronize(ctx context.Context, token int) error {
	if err := c.send(ctx, "guest-sync", map[string]int{"id": token}); err != nil {
		return err
	}
	for {
		var r struct {
			Return int `json:"return"`
		}
		if err := c.receive(ctx, &r); err != nil {
			return err
		}
		if r.Return == token {
			return nil
		}
	}
}

func (c *channel) send(ctx context.Context, command string, arguments any) error {
	line, err := json.Marshal(request{command, arguments})
	if err != nil {
		return err
	}
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return err
	}
	_, err = c.Write(append(line, '\n'))
	return err
}

func (c *channel) receive(ctx context.Context, into any) error {
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return err
	}
	line, err := c.lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, into)
}
