// Pack reads IPv4 prefixes from standard input, one per line in any order, and writes them packed to standard output:
// zcat prefixes.txt.gz | go run ./test/routes/pack >test/data/routes/table.gz
package main

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"

	"github.com/sinter-nfv/sinter/test/routes"
)

func main() {
	if err := pack(os.Stdout, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func pack(w io.Writer, r io.Reader) error {
	var prefixes []netip.Prefix
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		p, err := netip.ParsePrefix(lines.Text())
		if err != nil {
			return err
		}
		prefixes = append(prefixes, p)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	slices.SortFunc(prefixes, netip.Prefix.Compare)
	return routes.Write(w, prefixes)
}
