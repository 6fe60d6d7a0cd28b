package load

import "testing"

func TestLostPacketsTellWhatWasWanted(t *testing.T) {
	for name, tc := range map[string]struct {
		core Core
		want float64
	}{
		"nothing lost: as much as was done":                {Core{Packets: 1000}, 1},
		"a third lost: half as much again":                 {Core{Packets: 1000, Lost: 500}, 1.5},
		"nearly all lost: more is not known than fourfold": {Core{Packets: 1, Lost: 500}, 4},
		"all lost":          {Core{Lost: 500}, 4},
		"nothing came":      {Core{}, 1},
		"a core never seen": {Core{}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.core.demand(); got != tc.want {
				t.Errorf("wanted is %g of what was done, want %g", got, tc.want)
			}
		})
	}
}
