package rules

import "testing"

func TestRates(t *testing.T) {
	for s, want := range map[string]Rate{
		"10Mbit/s":          {10e6, false},
		"10 Mbit/s":         {10e6, false},
		"1.5kbit/s":         {1500, false},
		"1000bit/s":         {1000, false},
		"0.000001Gbit/s":    {1000, false},
		"1000Gbit/s":        {1e12, false},
		"1pps":              {1, true},
		"2.5kpps":           {2500, true},
		"1000Mpps":          {1e9, true},
		"1.000000001Gbit/s": {1000000001, false},
	} {
		if got, message := ParseRate(s); got != want || message != "" {
			t.Errorf("%q is %+v (%s), want %+v", s, got, message, want)
		}
	}
}

func TestRatesThatAreNone(t *testing.T) {
	const bits, packets = "must be from 1kbit/s to 1000Gbit/s", "must be from 1pps to 1000Mpps"
	for s, want := range map[string]string{
		"":                                notARate,
		"10":                              notARate,
		"Mbit/s":                          notARate,
		"10mbit/s":                        notARate,
		"10MBit/s":                        notARate,
		"10Gpps":                          notARate,
		"-1Mbit/s":                        notARate,
		"+1Mbit/s":                        notARate,
		".5Mbit/s":                        notARate,
		"5.Mbit/s":                        notARate,
		"1e3Mbit/s":                       notARate,
		"1/3Mbit/s":                       notARate,
		"0x10Mbit/s":                      notARate,
		"999bit/s":                        bits,
		"0kbit/s":                         bits,
		"1000.1Gbit/s":                    bits,
		"0pps":                            packets,
		"1000.000001Mpps":                 packets,
		"0.5pps":                          packets,
		"1.5pps":                          "must be a whole number of packets per second",
		"1.0005kbit/s":                    "must be a whole number of bits per second",
		"9999999999999Mpps":               packets,
		"99999999999999999999999999bit/s": bits,
	} {
		if got, message := ParseRate(s); message != want {
			t.Errorf("%q is %+v, message %q, want %q", s, got, message, want)
		}
	}
}

func TestBursts(t *testing.T) {
	const limit = 1 << 31
	for s, want := range map[string]uint64{"1": 1, "1500": 1500, "64Ki": 65536, "64k": 64000, "2M": 2e6, "3Mi": 3 << 20, "1G": 1e9, "2Gi": limit} {
		if got, message := ParseBurst(s, limit); got != want || message != "" {
			t.Errorf("%q is %d (%s), want %d", s, got, message, want)
		}
	}
	for _, s := range []string{"", "0", "Ki", "1.5k", "-1", "64KiB", "64K", "3Gi", "2147483649", "99999999999999999999", "9999999999999999999Gi"} {
		if got, message := ParseBurst(s, limit); message == "" {
			t.Errorf("%q is %d, want a message", s, got)
		}
	}
}
