package transfer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"

	"github.com/sinter-nfv/sinter/dataplane/agent/doorway"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

// Bounds of a server.
const (
	maxConnections = 16 // of givers of the chain
	maxRequest     = 4 << 20
	handshakeTime  = 5 * time.Second
	idleTime       = 30 * time.Second
)

// Server lets the chain's other pods give shards to this pod's engine.
type Server struct {
	Engine   Taker
	Identity *Identity
	Log      logr.Logger
	// Peers tells whether a source (doorway.Source) is one of the chain's other pods; nil: nobody knows. Others are strangers until they show who they are.
	Peers func(source netip.Addr) bool

	givers  chan struct{} // has room for those that may be served at once
	refused doorway.Lines // about strangers
}

// strangers are the limits of connections that have not shown yet whose they are.
var strangers = doorway.Limits{Total: 64, PerSource: 8, Rate: 5, Burst: 40, Strangers: 5}

// Serve serves until the context ends.
func (s *Server) Serve(ctx context.Context, open net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	l := doorway.Limit(open, strangers)
	l.Expects = s.Peers
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	group.SetLimit(strangers.Total + maxConnections + 1)
	s.givers = make(chan struct{}, maxConnections)
	group.Go(func() error {
		for {
			conn, err := l.Accept()
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return fmt.Errorf("shards of other pods: %w", err)
			}
			// Waits for a stranger that the door has ended for this one: its end may take a moment, for which nobody is refused.
			group.Go(func() error { s.serve(ctx, conn); return nil })
		}
	})
	return group.Wait()
}

// serve answers one giver. What its engine refuses is an answer; an engine that does not answer ends the connection, so that the giver asks
// again and does not take silence for a word.
func (s *Server) serve(ctx context.Context, raw net.Conn) {
	conn := tls.Server(raw, s.Identity.config())
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
	log := s.Log.WithValues("from", raw.RemoteAddr().String())
	handshake, cancel := context.WithTimeout(ctx, handshakeTime)
	err := conn.HandshakeContext(handshake)
	cancel()
	if err != nil {
		if write, suppressed := s.refused.Next(time.Now()); write {
			log.Info("giver refused", "error", err.Error(), "othersNotLogged", suppressed)
		}
		return
	}
	select {
	case s.givers <- struct{}{}:
		defer func() { <-s.givers }()
	default:
		return // the giver tries again
	}
	doorway.Admit(raw)
	for {
		if err := conn.SetDeadline(time.Now().Add(idleTime)); err != nil {
			return
		}
		req, err := control.ReadRequest(conn, maxRequest)
		if err != nil {
			return
		}
		resp, err := s.answer(ctx, req)
		if err != nil {
			log.Error(err, "giver is not answered")
			return
		}
		if err := control.WriteResponse(conn, resp); err != nil {
			return
		}
	}
}

func (s *Server) answer(ctx context.Context, req *controlpb.Request) (*controlpb.Response, error) {
	resp := &controlpb.Response{Id: req.GetId()}
	var err error
	switch {
	case req.GetTakeShards() != nil:
		var taken *controlpb.Taken
		taken, err = s.Engine.TakeShards(ctx, req.GetTakeShards())
		resp.Body = &controlpb.Response_Taken{Taken: taken}
	case req.GetGetStats().GetLoads():
		var places []controlpb.ShardPlace
		places, err = s.Engine.Places(ctx)
		stats := &controlpb.Stats{}
		for _, p := range places {
			stats.Shards = append(stats.Shards, &controlpb.ShardStats{Place: p})
		}
		resp.Body = &controlpb.Response_Stats{Stats: stats}
	default:
		resp.Error = "other pods may give shards and ask where shards are, and nothing else"
		return resp, nil
	}
	var refused *control.EngineError
	if errors.As(err, &refused) {
		return &controlpb.Response{Id: req.GetId(), Error: refused.Message}, nil
	}
	return resp, err
}
