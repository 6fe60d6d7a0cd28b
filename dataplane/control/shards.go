package control

import (
	"context"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

// AssignShards says which shards are the engine's; those that come begin without sessions.
func (c *Client) AssignShards(ctx context.Context, a *controlpb.AssignShards) error {
	_, err := c.call(ctx, "assign shards", &controlpb.Request{Body: &controlpb.Request_AssignShards{AssignShards: a}})
	return err
}

// SetPeers names the other engines that share the chain's state, and says whether this one is the front.
func (c *Client) SetPeers(ctx context.Context, p *controlpb.SetPeers) error {
	_, err := c.call(ctx, "set peers", &controlpb.Request{Body: &controlpb.Request_SetPeers{SetPeers: p}})
	return err
}

// GiveShards does a step of handing shards over to another engine.
func (c *Client) GiveShards(ctx context.Context, g *controlpb.GiveShards) (*controlpb.Given, error) {
	r, err := c.call(ctx, "give shards", &controlpb.Request{Body: &controlpb.Request_GiveShards{GiveShards: g}})
	if err != nil {
		return nil, err
	}
	return body("give shards", r.GetGiven())
}

// TakeShards does a step of taking shards from another engine.
func (c *Client) TakeShards(ctx context.Context, t *controlpb.TakeShards) (*controlpb.Taken, error) {
	r, err := c.call(ctx, "take shards", &controlpb.Request{Body: &controlpb.Request_TakeShards{TakeShards: t}})
	if err != nil {
		return nil, err
	}
	return body("take shards", r.GetTaken())
}
