package ipfix

import (
	"encoding/binary"
	"time"
)

const (
	version       = 10
	headerLength  = 16
	setHeader     = 4
	templateSet   = 2
	optionsSet    = 3
	firstTemplate = 256
)

// message is built set by set (RFC 7011 section 3). What is finished has its lengths.
type message struct {
	bytes   []byte
	set     int    // where the set at work begins; 0: there is none
	of      uint16 // its number
	records int    // of data
}

func newMessage() *message { return &message{bytes: make([]byte, headerLength, 2048)} }

// open has what is appended be of the set of a number.
func (m *message) open(number uint16) {
	if m.set > 0 && m.of == number {
		return
	}
	m.close()
	m.set, m.of = len(m.bytes), number
	m.bytes = binary.BigEndian.AppendUint16(m.bytes, number)
	m.bytes = append(m.bytes, 0, 0)
}

func (m *message) close() {
	if m.set > 0 {
		binary.BigEndian.PutUint16(m.bytes[m.set+2:], uint16(len(m.bytes)-m.set))
	}
	m.set = 0
}

// after is how long the message is with a record of a set more.
func (m *message) after(number uint16, length int) int {
	if m.set > 0 && m.of == number {
		return len(m.bytes) + length
	}
	return len(m.bytes) + setHeader + length
}

// template describes a template. Those about the exporter have sets of their own, as some collectors read but the first of a set.
func (m *message) template(t *Template) {
	if len(t.Scope) > 0 {
		m.close()
		m.open(optionsSet)
	} else {
		m.open(templateSet)
	}
	m.bytes = t.describe(m.bytes)
}

func (m *message) record(template uint16, record []byte) {
	m.open(template)
	m.bytes = append(m.bytes, record...)
	m.records++
}

// finish writes the header. sequence is how many records the domain sent before.
func (m *message) finish(now time.Time, sequence, domain uint32) []byte {
	m.close()
	binary.BigEndian.PutUint16(m.bytes, version)
	binary.BigEndian.PutUint16(m.bytes[2:], uint16(len(m.bytes)))
	binary.BigEndian.PutUint32(m.bytes[4:], uint32(now.Unix()))
	binary.BigEndian.PutUint32(m.bytes[8:], sequence)
	binary.BigEndian.PutUint32(m.bytes[12:], domain)
	return m.bytes
}
