package control

import (
	"context"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// AssignShards says which shards are the engine's; those that come begin without sessions.
func (c *Client) AssignShards(ctx context.Context, a *programpb.AssignShards) error {
	_, err := c.call(ctx, "assign shards", &programpb.Request{Body: &programpb.Request_AssignShards{AssignShards: a}})
	return err
}

// SetPeers names the other engines that share the chain's state, and says whether this one is the front.
func (c *Client) SetPeers(ctx context.Context, p *programpb.SetPeers) error {
	_, err := c.call(ctx, "set peers", &programpb.Request{Body: &programpb.Request_SetPeers{SetPeers: p}})
	return err
}

// GiveShards does a step of handing shards over to another engine.
func (c *Client) GiveShards(ctx context.Context, g *programpb.GiveShards) (*programpb.Given, error) {
	r, err := c.call(ctx, "give shards", &programpb.Request{Body: &programpb.Request_GiveShards{GiveShards: g}})
	if err != nil {
		return nil, err
	}
	return body("give shards", r.GetGiven())
}

// TakeShards does a step of taking shards from another engine.
func (c *Client) TakeShards(ctx context.Context, t *programpb.TakeShards) (*programpb.Taken, error) {
	r, err := c.call(ctx, "take shards", &programpb.Request{Body: &programpb.Request_TakeShards{TakeShards: t}})
	if err != nil {
		return nil, err
	}
	return body("take shards", r.GetTaken())
}
