package flows

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// spaceSaving is the plainest worker that keeps the bounds: a map of m keys, of which the lightest gives way.
type spaceSaving struct {
	m              int
	rows           map[uint32]*programpb.TopRow
	packets, bytes uint64
}

func (s *spaceSaving) add(k uint32, bytes uint64) {
	s.packets, s.bytes = s.packets+1, s.bytes+bytes
	r := s.rows[k]
	if r == nil {
		r = &programpb.TopRow{Source: k}
		if len(s.rows) == s.m {
			least := s.lightest()
			r.Bytes, r.Error = least.GetBytes(), least.GetBytes()
			delete(s.rows, least.GetSource())
		}
		s.rows[k] = r
	}
	r.Bytes += bytes
	r.Packets++
}

func (s *spaceSaving) lightest() *programpb.TopRow {
	var least *programpb.TopRow
	for _, r := range s.rows {
		if least == nil || r.GetBytes() < least.GetBytes() {
			least = r
		}
	}
	return least
}

// tell is what the worker tells of its heaviest rows.
func (s *spaceSaving) tell(limit int) *programpb.TopOfWorker {
	out := &programpb.TopOfWorker{Packets: s.packets, Bytes: s.bytes}
	for _, r := range s.rows {
		out.Rows = append(out.Rows, r)
	}
	slices.SortFunc(out.Rows, func(a, b *programpb.TopRow) int { return cmp.Compare(b.GetBytes(), a.GetBytes()) })
	switch {
	case limit < len(out.Rows):
		out.Least = out.Rows[limit].GetBytes()
		out.Rows = out.Rows[:limit]
	case len(s.rows) == s.m:
		out.Least = s.lightest().GetBytes()
	}
	return out
}

// TestMergedListsKeepTheBounds spreads Zipf traffic over workers: each row's bytes are right within its error, no unlisted key has more than is said.
func TestMergedListsKeepTheBounds(t *testing.T) {
	const packets, keys = 200_000, 20_000
	for _, k := range []struct {
		workers, entries, told, limit int
		byKey                         bool // all packets of a key go to one worker
		s                             float64
	}{
		{1, 100, 100, 0, true, 1.1},
		{4, 100, 100, 0, true, 1.1},
		{4, 100, 100, 0, false, 1.1},
		{3, 200, 50, 20, false, 1.01},
		{2, 64, 10, 5, true, 2},
	} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 8))
			zipf := rand.NewZipf(r, k.s, 1, keys-1)
			workers := make([]*spaceSaving, k.workers)
			for i := range workers {
				workers[i] = &spaceSaving{m: k.entries, rows: map[uint32]*programpb.TopRow{}}
			}
			truth := map[uint32]uint64{}
			var all uint64
			for range packets {
				key, bytes := uint32(zipf.Uint64())+1, uint64(40+r.IntN(1460))
				w := r.IntN(k.workers)
				if k.byKey {
					w = int(key) % k.workers
				}
				workers[w].add(key, bytes)
				truth[key] += bytes
				all += bytes
			}
			list := &programpb.TopList{Name: "mon", EndNs: uint64(time.Minute), Tops: []*programpb.Top{{By: &programpb.ObserveBy{What: programpb.ObserveBy_SOURCE, PrefixLen: 32}}}}
			for _, w := range workers {
				list.Tops[0].Workers = append(list.Tops[0].Workers, w.tell(k.told))
			}
			tops, err := Merge([]*programpb.TopList{list}, k.limit)
			if err != nil {
				t.Fatal(err)
			}
			got := tops.Lists[0]
			if got.Bytes != all || got.Packets != packets {
				t.Errorf("all is %d packets, %d bytes, want %d, %d", got.Packets, got.Bytes, packets, all)
			}
			compareRows(t, &got, truth)
			if k.told == k.entries && k.byKey && got.Unlisted > uint64(math.Ceil(float64(all)/float64(k.entries))) {
				t.Errorf("what is unlisted may have %d of %d bytes, want at most 1/%d", got.Unlisted, all, k.entries)
			}
		})
	}
}

// compareRows compares a list of sources with what each sent.
func compareRows(t *testing.T, got *Top, truth map[uint32]uint64) {
	t.Helper()
	listed := map[uint32]bool{}
	for i, row := range got.Rows {
		b := row.Source.Addr().As4()
		key := binary.BigEndian.Uint32(b[:])
		listed[key] = true
		if n := truth[key]; row.Bytes < n || row.Bytes-row.Error > n {
			t.Errorf("row %d: key %d has %d bytes, told are %d, of which %d may be others'", i, key, n, row.Bytes, row.Error)
		}
		if i > 0 && row.Bytes > got.Rows[i-1].Bytes {
			t.Errorf("row %d is heavier than the one before", i)
		}
	}
	for key, n := range truth {
		if !listed[key] && n > got.Unlisted {
			t.Errorf("key %d has %d bytes and is not listed; told is that no such has more than %d", key, n, got.Unlisted)
		}
	}
}

func TestListsOfDifferentProgramsAreNotMerged(t *testing.T) {
	list := func(what programpb.ObserveBy_What) *programpb.TopList {
		return &programpb.TopList{Tops: []*programpb.Top{{By: &programpb.ObserveBy{What: what}}}}
	}
	if _, err := Merge([]*programpb.TopList{list(programpb.ObserveBy_SOURCE), list(programpb.ObserveBy_DESTINATION)}, 0); err == nil {
		t.Error("lists of sources and destinations were merged")
	}
	if tops, err := Merge(nil, 0); err != nil || len(tops.Lists) != 0 {
		t.Errorf("of no engine came %+v, %v", tops, err)
	}
}

func TestRowsShowWhatTheyAreAbout(t *testing.T) {
	k := key{0x0a000001, 0xc0000201, 4000, 443, 6}
	for _, test := range []struct {
		by   *programpb.ObserveBy
		want Row
	}{
		{&programpb.ObserveBy{}, Row{
			Source: netip.MustParsePrefix("10.0.0.1/32"), Destination: netip.MustParsePrefix("192.0.2.1/32"), Protocol: 6, SourcePort: 4000, DestinationPort: 443,
		}},
		{&programpb.ObserveBy{What: programpb.ObserveBy_SOURCE, PrefixLen: 24}, Row{Source: netip.MustParsePrefix("10.0.0.1/24")}},
		{&programpb.ObserveBy{What: programpb.ObserveBy_DESTINATION, PrefixLen: 32}, Row{Destination: netip.MustParsePrefix("192.0.2.1/32")}},
	} {
		of := k
		if test.by.GetWhat() != programpb.ObserveBy_FLOW {
			of.sport, of.dport, of.protocol = 0, 0, 0
		}
		if got := rowOf(test.by, of); got != test.want {
			t.Errorf("%v: got %+v, want %+v", test.by, got, test.want)
		}
	}
}

// at is a record of a flow, so many ms before the time of the reading.
func at(sport uint32, flags uint32, packets, first, last uint32) *programpb.FlowRecord {
	return &programpb.FlowRecord{Source: 1, Destination: 2, SourcePort: sport, Protocol: 6, TcpFlags: flags, Packets: packets, Bytes: packets * 100, FirstMs: first, LastMs: last}
}

func TestFlowsAreExportedWhenTheirTimeoutsSaySo(t *testing.T) {
	c := Cache{Active: 60 * time.Second, Idle: 15 * time.Second, Max: 3}
	begin := time.Unix(1000, 0)
	read := func(after time.Duration, records ...*programpb.FlowRecord) []*Flow {
		return c.Add(&programpb.FlowRecords{UnixNs: uint64(begin.Add(after).UnixNano()), Records: records})
	}
	due := func(after time.Duration, want ...string) {
		t.Helper()
		var got []string
		for _, f := range c.Due(begin.Add(after), 10) {
			got = append(got, fmt.Sprintf("port %d: %d packets, %d bytes, flags %d, %v to %v, end %d",
				f.SourcePort, f.Packets, f.Bytes, f.TCPFlags, f.First.Sub(begin), f.Last.Sub(begin), f.End))
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %v: got %q, want %q", after, got, want)
		}
	}
	read(time.Second, at(1, 2, 1, 900, 900), at(1, 16, 9, 800, 100), at(2, 2, 5, 1000, 500))
	due(time.Second)
	read(10*time.Second, at(2, 17, 1, 0, 0), at(3, 16, 1, 5, 5))
	due(11 * time.Second)
	due(12*time.Second, "port 2: 6 packets, 600 bytes, flags 19, 0s to 10s, end 3")
	for s := 12; s < 60; s++ {
		read(time.Duration(s)*time.Second, at(1, 16, 1, 0, 0))
	}
	due(60*time.Second, "port 3: 1 packets, 100 bytes, flags 16, 9.995s to 9.995s, end 1")
	due(60100*time.Millisecond, "port 1: 58 packets, 5800 bytes, flags 18, 100ms to 59s, end 2")
	if c.Len() != 0 {
		t.Errorf("%d flows wait, want none", c.Len())
	}
	over := read(61*time.Second, at(5, 0, 1, 0, 0), at(6, 0, 1, 0, 0), at(7, 0, 1, 0, 0), at(8, 0, 7, 0, 0), at(5, 0, 1, 0, 0))
	if len(over) != 1 || over[0].SourcePort != 8 || over[0].End != NoResources || over[0].Packets != 7 {
		t.Errorf("without room came %+v, want the fourth flow, which lacks resources", over)
	}
	if all := c.All(10); len(all) != 3 || all[0].SourcePort != 5 || all[0].Packets != 2 || all[0].End != ForcedEnd || c.Len() != 0 {
		t.Errorf("at the end came %+v", all)
	}
}

func TestAListIsNamedAsAChainWritesIt(t *testing.T) {
	const source, destination = programpb.ObserveBy_SOURCE, programpb.ObserveBy_DESTINATION
	for _, c := range []struct {
		by   *programpb.ObserveBy
		want Top
	}{
		{&programpb.ObserveBy{}, Top{By: "Flow"}},
		{&programpb.ObserveBy{What: source, PrefixLen: 32}, Top{By: "Source"}},
		{&programpb.ObserveBy{What: destination, PrefixLen: 32}, Top{By: "Destination"}},
		{&programpb.ObserveBy{What: source, PrefixLen: 24}, Top{By: "SourcePrefix", PrefixLength: 24}},
		{&programpb.ObserveBy{What: destination, PrefixLen: 16}, Top{By: "DestinationPrefix", PrefixLength: 16}},
	} {
		tops, err := Merge([]*programpb.TopList{{Tops: []*programpb.Top{{By: c.by}}}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := tops.Lists[0]; got.By != c.want.By || got.PrefixLength != c.want.PrefixLength {
			t.Errorf("of %s: got %q %d, want %q %d", c.by, got.By, got.PrefixLength, c.want.By, c.want.PrefixLength)
		}
	}
}
