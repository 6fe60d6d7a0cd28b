package ipfix

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	flows = &Template{ID: 256, Fields: []Field{{SourceIPv4Address, 4}, {SourceTransportPort, 2}, {OctetDeltaCount, 8}}}
	about = &Template{ID: 257, Scope: []Field{{SelectorID, 2}}, Fields: []Field{{SamplingPacketSpace, 4}}}
)

// wire is a collector's end: messages as they were sent.
type wire struct {
	sync.Mutex
	messages [][]byte
	err      error
	full     chan struct{} // blocks writers until it is closed
}

func (w *wire) Write(b []byte) (int, error) {
	if w.full != nil {
		<-w.full
	}
	w.Lock()
	defer w.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	w.messages = append(w.messages, bytes.Clone(b))
	return len(b), nil
}

func (w *wire) Close() error { return nil }

// set is a set of a message as a collector takes it apart.
type set struct {
	number uint16
	body   []byte
}

func sets(t *testing.T, m []byte) (out []set) {
	t.Helper()
	if v, n := binary.BigEndian.Uint16(m), binary.BigEndian.Uint16(m[2:]); v != 10 || int(n) != len(m) {
		t.Fatalf("header says version %d, length %d of %d bytes", v, n, len(m))
	}
	for b := m[16:]; len(b) > 0; {
		n := int(binary.BigEndian.Uint16(b[2:]))
		if n < 4 || n > len(b) {
			t.Fatalf("set of %d bytes, %d are left", n, len(b))
		}
		out = append(out, set{binary.BigEndian.Uint16(b), b[4:n]})
		b = b[n:]
	}
	return out
}

// TestAMessageIsAsTheRFCDrawsIt compares with what sections 3.1 to 3.4 of RFC 7011 say, byte by byte.
func TestAMessageIsAsTheRFCDrawsIt(t *testing.T) {
	m := newMessage()
	m.template(flows)
	m.template(about)
	m.record(256, flows.Append(nil, 0x0a000001, 443, 1500))
	m.record(256, flows.Append(nil, 0x0a000002, 80, 60))
	m.record(257, about.Append(nil, 1, 99))
	got := m.finish(time.Unix(0x65000000, 0), 7, 3)
	want := []byte{
		0, 10, 0, 106, 0x65, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 3,
		0, 2, 0, 20, 1, 0, 0, 3, 0, 8, 0, 4, 0, 7, 0, 2, 0, 1, 0, 8,
		0, 3, 0, 18, 1, 1, 0, 2, 0, 1, 1, 46, 0, 2, 1, 50, 0, 4,
		1, 0, 0, 32, 10, 0, 0, 1, 1, 187, 0, 0, 0, 0, 0, 0, 5, 220, 10, 0, 0, 2, 0, 80, 0, 0, 0, 0, 0, 0, 0, 60,
		1, 1, 0, 10, 0, 1, 0, 0, 0, 99,
	}
	want[3] = byte(len(want))
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}

func TestRecordsComeInOrderAndMessagesCountThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		e := newExporter(Config{Templates: []*Template{flows, about}, Domain: 9, MaxLength: 200, About: func() []Record {
			return []Record{{Template: about, Bytes: about.Append(nil, 1, 9)}}
		}}, w)
		for i := range uint64(100) {
			if !e.Send(Record{Template: flows, Bytes: flows.Append(nil, i, 1, 2)}) {
				t.Fatal("no room")
			}
		}
		time.Sleep(time.Second)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		var records uint32
		var next uint32
		for i, m := range w.messages {
			if n := binary.BigEndian.Uint32(m[8:]); n != records {
				t.Errorf("message %d has sequence %d, %d records were sent before", i, n, records)
			}
			if len(m) > 200 {
				t.Errorf("message %d has %d bytes, want at most 200", i, len(m))
			}
			for _, s := range sets(t, m) {
				switch s.number {
				case 256:
					for b := s.body; len(b) > 0; b = b[14:] {
						if from := binary.BigEndian.Uint32(b); from != next {
							t.Fatalf("record %d came, want %d", from, next)
						}
						next++
						records++
					}
				case 257:
					records++
				}
			}
		}
		if next != 100 || e.Counts() != (Counts{Records: 101, Messages: uint64(len(w.messages))}) {
			t.Errorf("%d records came; counted %+v in %d messages", next, e.Counts(), len(w.messages))
		}
	})
}

func TestTemplatesAreSentFirstAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		e := newExporter(Config{Templates: []*Template{flows}, Every: 10 * time.Second}, w)
		time.Sleep(35 * time.Second)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if len(w.messages) != 4 {
			t.Fatalf("%d messages in 35 s, want the templates 4 times", len(w.messages))
		}
		for _, m := range w.messages {
			if s := sets(t, m); len(s) != 1 || s[0].number != templateSet {
				t.Errorf("sets are %v, want templates", s)
			}
		}
	})
}

func TestWhatIsNotSentIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{full: make(chan struct{})}
		e := newExporter(Config{Templates: []*Template{flows}, Queue: 10}, w)
		synctest.Wait() // it writes the templates
		sent := 0
		for range 25 {
			if e.Send(Record{Template: flows, Bytes: flows.Append(nil, 1, 2, 3), Packets: 2, Octets: 100}) {
				sent++
			}
		}
		if want := (Counts{Lost: 15, LostPackets: 30, LostOctets: 1500}); sent != 10 || e.Counts() != want {
			t.Errorf("%d fit into a queue of 10; counted %+v, want %+v", sent, e.Counts(), want)
		}
		w.Lock()
		w.err = errors.New("connection refused")
		w.Unlock()
		close(w.full)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if want := (Counts{Lost: 25, LostPackets: 50, LostOctets: 2500}); e.Counts() != want {
			t.Errorf("counted %+v, want %+v", e.Counts(), want)
		}
	})
}
