package rig

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Scale is a size of the suite's long form, or with -short the smallest that still finds what the test was written for.
func Scale(full, short int) int {
	if testing.Short() {
		return short
	}
	return full
}

// FirstSeed is the seed of rapid's first draw, and the first one of seeds.
var FirstSeed uint64 = 1

// chooseSeed sets FirstSeed: 1 with -short, so that a change meets the chains that the one before it met; at random, and printed, in the
// long form; or SINTER_SEED.
func chooseSeed() error {
	switch s := os.Getenv("SINTER_SEED"); {
	case s != "":
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil || n == 0 {
			return fmt.Errorf("SINTER_SEED is %q, want a number from 1 to 4294967295, such as 17", s)
		}
		FirstSeed = n
	case !testing.Short():
		FirstSeed = uint64(1 + rand.N(1_000_000))
		fmt.Printf("differential: SINTER_SEED=%d runs the same chains again\n", FirstSeed)
	}
	return nil
}

// Seeds are as many as the variable says, or the usual number, from FirstSeed on.
func Seeds(t *testing.T, variable string, usual int) iter.Seq[uint64] {
	t.Helper()
	if s := os.Getenv(variable); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("%s is %q, want a number of chains, such as 32", variable, s)
		}
		usual = n
	}
	return func(yield func(uint64) bool) {
		for seed := FirstSeed; seed < FirstSeed+uint64(usual) && yield(seed); seed++ {
		}
	}
}
