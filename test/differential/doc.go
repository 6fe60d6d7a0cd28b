// Package differential proves the engine against the oracle: the same packets, boundary and odd ones
// among them, go through the synthesized program in the engine's harness and through
// the unmerged chain in dataplane/interp, and every frame, drop reason and counter has to be the same.
//
// The tests are in suites, each a package with a least number of packets and chains. Package draw has
// what they draw, package rig runs and compares it, and package model runs programs without an engine.
// Imports go one way: draw and model, then rig, then suites.
//
// `make test` runs the short form, always with the same chains. The long form has four times as many packets, of other chains each
// time, and each suite prints the seed that draws them again:
//
//	go test ./test/differential/... -count=1 -timeout 1h -v
//	SINTER_SEED=17 go test ./test/differential/... -count=1 -timeout 1h -v
//
// `make test-full` also runs the short form's random chains with ten new seeds, and prints them; `make seeds SEEDS=17` runs those of one.
//
// The engine's harness is looked for where SINTER_HARNESS points, else in the engine's build folder; without it the
// tests are skipped. SINTER_DATA names another folder of rule sets than test/data.
package differential
