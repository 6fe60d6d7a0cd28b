// Command traffic is what the end-to-end suite and the demo put at the ends of a chain: it
// answers, and it sends and tells what became of it.
//
//	traffic serve --udp :53 --tcp :80
//	traffic send --to 203.0.113.254:53 --rate 2000 --for 10s
//	traffic flows --to 203.0.113.254:53 --count 2000
//	traffic fetch --from 203.0.113.254:80 --bytes 20000000
//	traffic bridge net1 net2
//	traffic texts --http :80 --text routes=198.51.100.0/24
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{Use: "traffic", Short: "Ends of a chain: answer, send, and tell what became of it", SilenceUsage: true}
	root.AddCommand(newServe(), newSend(), newFlows(), newFetch(), newTexts(), newBridge())
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "traffic:", err)
		os.Exit(1)
	}
}
