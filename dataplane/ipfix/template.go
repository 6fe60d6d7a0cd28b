// Package ipfix exports records by IPFIX (RFC 7011) over UDP. Templates say what is in a record: package ipfix knows nothing of
// flows, so logs of other kinds go by it as well. What cannot be sent is counted.
package ipfix

import (
	"encoding/binary"
	"fmt"
)

// Element is the number of an information element at IANA.
type Element uint16

// Information elements (https://www.iana.org/assignments/ipfix).
const (
	OctetDeltaCount          Element = 1
	PacketDeltaCount         Element = 2
	ProtocolIdentifier       Element = 4
	TCPControlBits           Element = 6
	SourceTransportPort      Element = 7
	SourceIPv4Address        Element = 8
	IngressInterface         Element = 10
	DestinationTransportPort Element = 11
	DestinationIPv4Address   Element = 12
	ICMPTypeCodeIPv4         Element = 32
	SamplingInterval         Element = 34 // deprecated
	FlowEndReason            Element = 136
	ExportingProcessID       Element = 144
	ObservationDomainID      Element = 149
	FlowStartMilliseconds    Element = 152
	FlowEndMilliseconds      Element = 153
	NotSentFlowTotalCount    Element = 167
	NotSentPacketTotalCount  Element = 168
	NotSentOctetTotalCount   Element = 169
	SelectorID               Element = 302
	SelectorAlgorithm        Element = 304
	SamplingPacketInterval   Element = 305
	SamplingPacketSpace      Element = 306
)

// Field is a value of a record: 1 to 8 bytes, a number in network order.
type Field struct {
	Element Element
	Length  int
}

// Template says what is in a record. Its ID is at least 256, and no other template of the exporter has it.
type Template struct {
	ID uint16
	// Scope has the first fields of a record about the exporter itself, those that say what it is about; empty: records are data.
	Scope  []Field
	Fields []Field
}

// Length is how many bytes a record has.
func (t *Template) Length() int {
	n := 0
	for _, list := range [...][]Field{t.Scope, t.Fields} {
		for _, f := range list {
			n += f.Length
		}
	}
	return n
}

// Append appends a record. The values are those of the scope's fields and the others in their order, each of which must fit.
func (t *Template) Append(b []byte, values ...uint64) []byte {
	if len(values) != len(t.Scope)+len(t.Fields) {
		panic(fmt.Sprintf("ipfix: template %d has %d fields, not %d", t.ID, len(t.Scope)+len(t.Fields), len(values)))
	}
	var word [8]byte
	for i, v := range values {
		f := t.field(i)
		if f.Length < 8 && v>>(8*f.Length) != 0 {
			panic(fmt.Sprintf("ipfix: %d does not fit into the %d bytes of element %d", v, f.Length, f.Element))
		}
		binary.BigEndian.PutUint64(word[:], v)
		b = append(b, word[8-f.Length:]...)
	}
	return b
}

func (t *Template) field(i int) Field {
	if i < len(t.Scope) {
		return t.Scope[i]
	}
	return t.Fields[i-len(t.Scope)]
}

// describe appends the template as a collector reads it (RFC 7011 sections 3.4.1 and 3.4.2.2).
func (t *Template) describe(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, t.ID)
	b = binary.BigEndian.AppendUint16(b, uint16(len(t.Scope)+len(t.Fields)))
	if len(t.Scope) > 0 {
		b = binary.BigEndian.AppendUint16(b, uint16(len(t.Scope)))
	}
	for i := range len(t.Scope) + len(t.Fields) {
		f := t.field(i)
		b = binary.BigEndian.AppendUint16(b, uint16(f.Element))
		b = binary.BigEndian.AppendUint16(b, uint16(f.Length))
	}
	return b
}
