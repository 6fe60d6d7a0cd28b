package transfer

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

// owner answers where shards are; this test asks nothing else.
type owner struct{ Taker }

func (owner) Places(context.Context) ([]controlpb.ShardPlace, error) {
	return []controlpb.ShardPlace{controlpb.ShardPlace_SHARD_HERE}, nil
}

// Sixteen connections that said nothing blocked all givers for the time of a handshake, again and again.
func TestSilentConnectionsKeepNoGiverOut(t *testing.T) {
	id := identity(t, "a secret")
	a := newAgent(t, owner{}, id)
	for i := range 200 {
		from := &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%10))}
		c, err := (&net.Dialer{LocalAddr: from}).DialContext(t.Context(), "tcp", a.address)
		if err == nil { // else it is refused at once
			defer c.Close()
		}
	}
	for i := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		conn, err := id.Dial(ctx, a.address)
		if err != nil {
			t.Fatalf("giver %d: %v", i, err)
		}
		client := control.NewClient(conn)
		if _, err := client.Loads(ctx); err != nil {
			t.Errorf("giver %d: %v", i, err)
		}
		_ = client.Close()
		cancel()
	}
}
