package ipfix

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Config is where an exporter sends, and what.
type Config struct {
	Collector netip.AddrPort
	Domain    uint32      // observation domain: one exporter has it at a time
	Templates []*Template // of all records
	// About gives records about the exporter itself, which are sent with the templates; nil: none.
	About func() []Record
	// Queue is how many records wait at most; 0: 65536. Further ones are lost.
	Queue int
	// Every is how often templates are sent again, as datagrams get lost (RFC 7011 section 8.1); 0: 30 s.
	Every time.Duration
	// MaxLength of a message, so that no datagram is fragmented (section 10.3.3); 0: 1400.
	MaxLength int
}

// Record is of a template.
type Record struct {
	Template *Template
	Bytes    []byte // see Template.Append
	// Weight is what is lost with the record, for the count.
	Packets, Octets uint64
}

// Counts are an exporter's since it began.
type Counts struct {
	Records  uint64 // that were sent
	Messages uint64
	// Lost are records that were not sent: the queue was full, or the socket refused them. LostPackets and LostOctets are what these had.
	Lost, LostPackets, LostOctets uint64
}

// Exporter sends records. What it is given is sent in the order given.
type Exporter struct {
	config   Config
	queue    chan Record
	conn     io.WriteCloser
	done     chan struct{}
	stop     sync.Once
	sequence uint32
	counts   struct{ records, messages, lost, lostPackets, lostOctets atomic.Uint64 }
}

// fillTime is how long a message waits to be filled.
const fillTime = 100 * time.Millisecond

// Dial makes an exporter. It sends until Close.
func Dial(ctx context.Context, c Config) (*Exporter, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "udp", c.Collector.String())
	if err != nil {
		return nil, fmt.Errorf("collector %s: %w", c.Collector, err)
	}
	return newExporter(c, conn), nil
}

func newExporter(c Config, conn io.WriteCloser) *Exporter {
	if c.Queue == 0 {
		c.Queue = 1 << 16
	}
	if c.Every == 0 {
		c.Every = 30 * time.Second
	}
	if c.MaxLength == 0 {
		c.MaxLength = 1400
	}
	e := &Exporter{config: c, queue: make(chan Record, c.Queue), conn: conn, done: make(chan struct{})}
	go e.run()
	return e
}

// Send has a record sent. False: there is no room for it, and it counts as lost. It does not wait.
func (e *Exporter) Send(r Record) bool {
	select {
	case e.queue <- r:
		return true
	default:
		e.lose(r)
		return false
	}
}

// Room is how many records Send has room for at least, if nobody else sends.
func (e *Exporter) Room() int { return cap(e.queue) - len(e.queue) }

func (e *Exporter) lose(r Record) {
	e.counts.lost.Add(1)
	e.counts.lostPackets.Add(r.Packets)
	e.counts.lostOctets.Add(r.Octets)
}

// Counts are the exporter's.
func (e *Exporter) Counts() Counts {
	return Counts{
		Records: e.counts.records.Load(), Messages: e.counts.messages.Load(),
		Lost: e.counts.lost.Load(), LostPackets: e.counts.lostPackets.Load(), LostOctets: e.counts.lostOctets.Load(),
	}
}

// Close sends what waits, and ends. Nothing may be given to Send any more.
func (e *Exporter) Close() error {
	e.stop.Do(func() { close(e.queue) })
	<-e.done
	return e.conn.Close()
}

func (e *Exporter) run() {
	defer close(e.done)
	templates := time.NewTicker(e.config.Every)
	defer templates.Stop()
	fill := time.NewTimer(fillTime)
	defer fill.Stop()
	p := pending{exporter: e, message: newMessage()}
	p.describe()
	for {
		select {
		case r, open := <-e.queue:
			if !open {
				p.flush()
				return
			}
			p.add(r)
		case <-templates.C:
			p.flush()
			p.describe()
		case <-fill.C:
			p.flush()
			fill.Reset(fillTime)
		}
	}
}

// pending is the message that is being filled, with its records.
type pending struct {
	exporter *Exporter
	message  *message
	records  []Record
}

func (p *pending) add(r Record) {
	if p.message.after(r.Template.ID, len(r.Bytes)) > p.exporter.config.MaxLength {
		p.flush()
	}
	p.message.record(r.Template.ID, r.Bytes)
	p.records = append(p.records, r)
}

// describe sends the templates, and what is said about the exporter.
func (p *pending) describe() {
	for _, t := range p.exporter.config.Templates {
		if p.message.after(templateSet, len(t.describe(nil))) > p.exporter.config.MaxLength {
			p.flush()
		}
		p.message.template(t)
	}
	p.flush()
	if p.exporter.config.About == nil {
		return
	}
	for _, r := range p.exporter.config.About() {
		p.add(r)
	}
	p.flush()
}

// flush sends the message, if there is something in it. The sequence counts what a collector could have received.
func (p *pending) flush() {
	e := p.exporter
	if len(p.message.bytes) == headerLength {
		return
	}
	_, err := e.conn.Write(p.message.finish(time.Now(), e.sequence, e.config.Domain))
	e.sequence += uint32(p.message.records)
	if err != nil {
		for _, r := range p.records {
			e.lose(r)
		}
	} else {
		e.counts.messages.Add(1)
		e.counts.records.Add(uint64(p.message.records))
	}
	p.message.bytes, p.message.records, p.records = p.message.bytes[:headerLength], 0, p.records[:0]
}
