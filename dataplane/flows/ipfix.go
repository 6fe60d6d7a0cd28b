package flows

import (
	"github.com/sinter-nfv/sinter/dataplane/ipfix"
)

// Templates of what is exported. Packets of ICMP have a type where others have ports.
var (
	flowTemplate = &ipfix.Template{ID: 256, Fields: fieldsOf(
		ipfix.Field{Element: ipfix.SourceTransportPort, Length: 2}, ipfix.Field{Element: ipfix.DestinationTransportPort, Length: 2})}
	icmpTemplate = &ipfix.Template{ID: 257, Fields: fieldsOf(ipfix.Field{Element: ipfix.ICMPTypeCodeIPv4, Length: 2})}
	// samplingTemplate tells of which packets the records are: systematic sampling by count (RFC 5477 section 8.2).
	samplingTemplate = &ipfix.Template{
		ID:    258,
		Scope: []ipfix.Field{{Element: ipfix.SelectorID, Length: 2}},
		Fields: []ipfix.Field{
			{Element: ipfix.SelectorAlgorithm, Length: 2}, {Element: ipfix.SamplingPacketInterval, Length: 4}, {Element: ipfix.SamplingPacketSpace, Length: 4},
		},
	}
	// lossTemplate tells what was not sent (RFC 7011 section 4.3).
	lossTemplate = &ipfix.Template{
		ID:    259,
		Scope: []ipfix.Field{{Element: ipfix.ExportingProcessID, Length: 4}},
		Fields: []ipfix.Field{
			{Element: ipfix.NotSentFlowTotalCount, Length: 8}, {Element: ipfix.NotSentPacketTotalCount, Length: 8}, {Element: ipfix.NotSentOctetTotalCount, Length: 8},
		},
	}
	// rateTemplate tells the same to collectors that know no more than NetFlow did: nfdump does not read the other.
	rateTemplate = &ipfix.Template{
		ID:     260,
		Scope:  []ipfix.Field{{Element: ipfix.ObservationDomainID, Length: 4}},
		Fields: []ipfix.Field{{Element: ipfix.SamplingInterval, Length: 4}},
	}
	templates = []*ipfix.Template{flowTemplate, icmpTemplate, samplingTemplate, lossTemplate, rateTemplate}
)

const (
	protoICMP         = 1
	systematicByCount = 1 // selectorAlgorithm
	domain            = 1
	selector          = 1
)

// fieldsOf are the fields of a flow's record, with those that tell what is behind IP's header.
func fieldsOf(transport ...ipfix.Field) []ipfix.Field {
	fields := []ipfix.Field{
		{Element: ipfix.SourceIPv4Address, Length: 4},
		{Element: ipfix.DestinationIPv4Address, Length: 4},
		{Element: ipfix.ProtocolIdentifier, Length: 1},
		{Element: ipfix.TCPControlBits, Length: 1},
		{Element: ipfix.FlowEndReason, Length: 1},
		{Element: ipfix.IngressInterface, Length: 4},
		{Element: ipfix.PacketDeltaCount, Length: 8},
		{Element: ipfix.OctetDeltaCount, Length: 8},
		{Element: ipfix.FlowStartMilliseconds, Length: 8},
		{Element: ipfix.FlowEndMilliseconds, Length: 8},
	}
	return append(fields, transport...)
}

// record is a flow as it is sent. Interfaces are numbered from 1: 0 says that it is not known.
func record(f *Flow) ipfix.Record {
	values := []uint64{
		uint64(f.Source), uint64(f.Destination), uint64(f.Protocol), uint64(f.TCPFlags), uint64(f.End),
		uint64(f.Interface) + 1, f.Packets, f.Bytes, uint64(f.First.UnixMilli()), uint64(f.Last.UnixMilli()),
	}
	t := flowTemplate
	if f.Protocol == protoICMP {
		t, values = icmpTemplate, append(values, uint64(f.DestinationPort))
	} else {
		values = append(values, uint64(f.SourcePort), uint64(f.DestinationPort))
	}
	return ipfix.Record{Template: t, Bytes: t.Append(make([]byte, 0, t.Length()), values...), Packets: f.Packets, Octets: f.Bytes}
}

// about is what the collector is told of the exporter: how packets were sampled, and what was not sent.
func about(sampling uint32, lost *ipfix.Counts) []ipfix.Record {
	if lost == nil {
		lost = &ipfix.Counts{}
	}
	out := []ipfix.Record{{
		Template: lossTemplate, Bytes: lossTemplate.Append(nil, 1, lost.Lost, lost.LostPackets, lost.LostOctets),
	}}
	if sampling > 1 {
		out = append(out, ipfix.Record{
			Template: samplingTemplate, Bytes: samplingTemplate.Append(nil, selector, systematicByCount, 1, uint64(sampling)-1),
		}, ipfix.Record{
			Template: rateTemplate, Bytes: rateTemplate.Append(nil, domain, uint64(sampling)),
		})
	}
	return out
}
