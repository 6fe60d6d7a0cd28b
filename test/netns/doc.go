// Package netns runs chains on real packets between network namespaces: hosts with the kernel's
// own TCP, UDP, ICMP and ARP on one side of the engine and the other, and a paced generator for
// exchanges of programs under load.
//
// `make test` runs the short form. The long form waits for neighbours to age by the machine's clock, and measures rates that need a CPU
// and more:
//
//	go test ./test/netns -count=1 -parallel 8 -timeout 1h -v
//
// The tests need root and are skipped without. The engine is looked for where SINTER_ENGINE points, else in
// its build folder; sinterctl where SINTERCTL points, else in bin. Other load on the machine's CPUs makes
// the test under load meaningless: run this package alone.
package netns
