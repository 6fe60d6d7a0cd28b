package model

import (
	"encoding/binary"
	"math/big"
	"net/netip"
	"time"

	limiter "github.com/sinter-nfv/sinter/dataplane/module/limiter/oracle"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// level is what the buckets of a meter held at a time, in tokens.
type level struct {
	committed, second *big.Rat
	at                time.Duration
}

func rational(n uint64) *big.Rat { return new(big.Rat).SetUint64(n) }

// overflow takes out of a bucket what it has no room for.
func overflow(bucket *big.Rat, size uint64) *big.Rat {
	over := new(big.Rat).Sub(bucket, rational(size))
	if over.Sign() <= 0 {
		return new(big.Rat)
	}
	bucket.Set(rational(size))
	return over
}

// level is what the packet's buckets hold now.
func (m *Model) level(s *Shot, table uint32, t *programpb.Meter) *level {
	key := [2]uint32{table}
	if u := t.GetSubscribers(); u != nil {
		at := 12
		if u.GetDestination() {
			at = 16
		}
		key[1] = binary.BigEndian.Uint32(s.IP[at:]) & (^uint32(0) << (32 - u.GetPrefixLen()))
	}
	l := m.meters[key]
	if l == nil {
		if t.GetSubscribers() != nil {
			m.Subscribers = append(m.Subscribers, limiter.Subscriber{Meter: m.p.GetTables()[table].GetName(), New: packets.Addr(key[1]), Old: m.makeRoom(table, t)})
		}
		l = &level{rational(t.GetBurst()), rational(t.GetExcessBurst()), m.now}
		m.meters[key] = l
	}
	l.fill(t, m.now)
	return l
}

// fill adds the tokens that came since the buckets were used.
func (l *level) fill(t *programpb.Meter, now time.Duration) {
	came := func(rate uint64) *big.Rat {
		return new(big.Rat).Mul(rational(rate), big.NewRat(int64(now-l.at), int64(time.Second)))
	}
	l.committed.Add(l.committed, came(t.GetRate()))
	over := overflow(l.committed, t.GetBurst())
	if t.GetPeakRate() > 0 {
		over = came(t.GetPeakRate())
	}
	l.second.Add(l.second, over)
	overflow(l.second, t.GetExcessBurst())
	l.at = now
}

// makeRoom has a further subscriber fit in a table: those whose buckets are full are forgotten, or else the one used least recently ends.
func (m *Model) makeRoom(table uint32, t *programpb.Meter) (ended netip.Addr) {
	room := int(m.p.GetTables()[table].GetMaxSessions())
	if len(m.meters) < room {
		return netip.Addr{}
	}
	var idlest [2]uint32
	var oldest *level
	there := 0
	for key, l := range m.meters {
		if key[0] != table {
			continue
		}
		now := level{new(big.Rat).Set(l.committed), new(big.Rat).Set(l.second), l.at}
		if now.fill(t, m.now); now.committed.Cmp(rational(t.GetBurst())) == 0 && now.second.Cmp(rational(t.GetExcessBurst())) == 0 {
			delete(m.meters, key)
			continue
		}
		there++
		if oldest == nil || l.at < oldest.at {
			idlest, oldest = key, l
		}
	}
	if there >= room {
		delete(m.meters, idlest)
		return packets.Addr(idlest[1])
	}
	return netip.Addr{}
}

// measure is the model's meter: RFC 2697 and RFC 2698 in fractions of tokens. It marks the packet, or gives the reason of its drop.
func (m *Model) measure(s *Shot, table uint32) (drop string) {
	t := m.p.GetTables()[table].GetMeter()
	l := m.level(s, table, t)
	cost := rational(1)
	if t.GetUnit() == programpb.Meter_BITS {
		cost = rational(8 * uint64(binary.BigEndian.Uint16(s.IP[2:])))
	}
	dscp := s.IP[1] >> 2
	comesRed, comesYellow := t.GetComesRed()>>dscp&1 == 1, t.GetComesYellow()>>dscp&1 == 1
	enough := func(bucket *big.Rat) bool { return bucket.Cmp(cost) >= 0 }
	green := !comesRed && !comesYellow && enough(l.committed) && (t.GetPeakRate() == 0 || enough(l.second))
	yellow := !green && !comesRed && enough(l.second)
	if green {
		l.committed.Sub(l.committed, cost)
	}
	if yellow || green && t.GetPeakRate() > 0 {
		l.second.Sub(l.second, cost)
	}
	action := t.GetRed()
	switch {
	case green:
		return ""
	case yellow:
		action = t.GetYellow()
	}
	switch a := action.GetAction().(type) {
	case *programpb.MeterAction_Drop:
		return m.p.GetReasons()[a.Drop]
	case *programpb.MeterAction_Dscp:
		s.set(programpb.Field_DSCP, a.Dscp)
	}
	return ""
}
