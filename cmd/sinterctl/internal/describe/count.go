package describe

import (
	"fmt"
	"strings"
)

// Count is a number of things in words: "1 rule", "2 rules", "3 addresses".
func Count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"), strings.HasSuffix(what, "x"):
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
