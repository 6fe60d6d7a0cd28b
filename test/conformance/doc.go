// Package conformance has a chain and the Linux kernel do the same work side by side, in network namespaces, and compares
// what leaves field by field. docs/conformance.md says how, and lists the differences with their reasons.
package conformance
