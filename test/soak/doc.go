// Package soak has a chain run for hours as in a network that is never quiet: flows of all protocols that begin and end, a program swap each
// second, and floods by turns. Each frame that is sent is received, or dropped under a reason: exactly, at the end of each turn. Flows that are
// established lose nothing, and memory stays flat. `make soak` runs it for hours, `make test` for seconds.
package soak
