package rules

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Rate is a rate in bits or packets per second.
type Rate struct {
	PerSecond uint64
	Packets   bool // else bits
}

// rateUnits are the units by their names; those that end in others' names come first.
var rateUnits = []struct {
	name    string
	factor  int64
	packets bool
}{
	{"kbit/s", 1e3, false},
	{"Mbit/s", 1e6, false},
	{"Gbit/s", 1e9, false},
	{"bit/s", 1, false},
	{"kpps", 1e3, true},
	{"Mpps", 1e6, true},
	{"pps", 1, true},
}

// Bounds of rates.
const (
	minBitRate, maxBitRate       = 1e3, 1e12
	minPacketRate, maxPacketRate = 1, 1e9
)

const notARate = `not a rate; write a number and one of bit/s, kbit/s, Mbit/s, Gbit/s, pps, kpps, Mpps, like "10Mbit/s"`

// ParseRate reads a rate ("1.5Mbit/s", "200pps"). The message is empty if it could be read.
func ParseRate(s string) (r Rate, message string) {
	for _, u := range rateUnits {
		number, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, ok := decimal(strings.TrimSuffix(number, " "))
		if !ok {
			return r, notARate
		}
		n.Mul(n, new(big.Rat).SetInt64(u.factor))
		low, high, bounds := int64(minBitRate), int64(maxBitRate), "1kbit/s to 1000Gbit/s"
		if u.packets {
			low, high, bounds = minPacketRate, maxPacketRate, "1pps to 1000Mpps"
		}
		switch {
		case n.Cmp(new(big.Rat).SetInt64(low)) < 0 || n.Cmp(new(big.Rat).SetInt64(high)) > 0:
			return r, "must be from " + bounds
		case !n.IsInt() && u.packets:
			return r, "must be a whole number of packets per second"
		case !n.IsInt():
			return r, "must be a whole number of bits per second"
		}
		return Rate{n.Num().Uint64(), u.packets}, ""
	}
	return r, notARate
}

// decimal reads digits, with some behind a point if there is one.
func decimal(s string) (*big.Rat, bool) {
	whole, part, pointed := strings.Cut(s, ".")
	if len(s) > 32 || !digits(whole) || pointed && !digits(part) {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// sizes are what letters behind a number multiply it by.
var sizes = []struct {
	suffix string
	factor uint64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"", 1},
}

// ParseBurst reads a number of bytes or packets, from 1 to limit ("64Ki"). The message is empty if it could be read.
func ParseBurst(s string, limit uint64) (n uint64, message string) {
	for _, z := range sizes {
		number, ok := strings.CutSuffix(s, z.suffix)
		if !ok {
			continue
		}
		if !digits(number) {
			return 0, `not a size; write a number, or one with k, M, G, Ki, Mi or Gi behind it, like "64Ki"`
		}
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil || n < 1 || n > limit/z.factor {
			return 0, fmt.Sprintf("must be from 1 to %d", limit)
		}
		return n * z.factor, ""
	}
	return 0, ""
}
