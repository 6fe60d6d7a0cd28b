// Package dispatch decides what a port's device does for a packet program before software sees a packet (Metron,
// sections 8.1.2 to 8.1.3.4): which packets it drops, with which class it marks the others, and to
// which core's queue it gives them. It makes plans of flow rules, and the numbers for RSS; it speaks to no device.
// docs/dispatch.md tells the whole.
package dispatch
