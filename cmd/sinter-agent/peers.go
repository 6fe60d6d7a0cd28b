package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"

	"github.com/sinter-nfv/sinter/dataplane/agent/doorway"
	"github.com/sinter-nfv/sinter/dataplane/agent/transfer"
)

// peering is how the pod meets the other pods of its chain.
type peering struct {
	secret  string // file
	address string
}

// open is who the pod is to them, and where they find it, by some interfaces; both nil without a secret.
func (p *peering) open(ctx context.Context, by []int) (*transfer.Identity, net.Listener, error) {
	if p.secret == "" {
		return nil, nil, nil
	}
	secret, err := os.ReadFile(p.secret)
	if err != nil {
		return nil, nil, fmt.Errorf("--chain-secret: %w", err)
	}
	identity, err := transfer.NewIdentity(bytes.TrimSpace(secret))
	if err != nil {
		return nil, nil, fmt.Errorf("--chain-secret %s: %w", p.secret, err)
	}
	listener, err := doorway.Listen(ctx, p.address, by)
	if err != nil {
		return nil, nil, fmt.Errorf("--peers-bind: %w", err)
	}
	return identity, listener, nil
}
