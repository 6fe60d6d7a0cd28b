package control

import (
	"context"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Top reads the heaviest flows, hosts or prefixes that a monitor of the chain lists.
func (c *Client) Top(ctx context.Context, want *programpb.GetTop) (*programpb.TopList, error) {
	r, err := c.call(ctx, "top", &controlpb.Request{Body: &controlpb.Request_GetTop{GetTop: want}})
	if err != nil {
		return nil, err
	}
	return body("top", r.GetTop())
}

// ReadFlows takes records of flows that are to be exported; nobody gets them again. limit 0: as many as the engine likes.
func (c *Client) ReadFlows(ctx context.Context, limit uint32) (*programpb.FlowRecords, error) {
	r, err := c.call(ctx, "flow records", &controlpb.Request{Body: &controlpb.Request_ReadFlows{ReadFlows: &programpb.ReadFlows{Limit: limit}}})
	if err != nil {
		return nil, err
	}
	return body("flow records", r.GetFlowRecords())
}
