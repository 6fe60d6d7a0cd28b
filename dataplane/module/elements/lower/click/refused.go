package click

// refused are classes of Click and FastClick that have no counterpart, with what is to be done.
var refused = map[string]string{}

func init() {
	for reason, names := range map[string][]string{
		"rates of all packets are not measured by averages; use RatedSplitter or BandwidthRatedSplitter, with output 1 connected to Discard": {
			"Meter", "BandwidthMeter", "PacketMeter",
		},
		"which output packets take does not hang on a turn, on chance or on a hash; write IPClassifier, or use a loadBalancer function": {
			"RoundRobinSwitch", "HashSwitch", "RandomSwitch", "StrideSwitch", "ProbSplitter", "RandomSample", "RandomBitErrors", "FlowSwitch",
			"ExactCPUSwitch", "CPUSwitch",
		},
		"dropping by the length of a queue has no meaning: packets do not wait; take it out": {"RED", "GREEDY", "CoDel", "AdaptiveRED", "DelayShaper", "DelayUnqueue", "RandomDelay"},
		"a chain generates no packets; take the source out, and send packets to its interfaces": {
			"InfiniteSource", "RatedSource", "TimedSource", "RandomSource", "UDPIPEncapSource", "FastUDPSource", "FastUDPFlows", "FastTCPFlows", "ICMPPingSource", "ICMPSendPings",
			"FromDump", "FromIPSummaryDump", "FromPcap", "ReplayUnqueue", "FromTcpdump", "FromCapDump", "FromNetFlowSummaryDump", "RatedSourceMP", "ARPFaker",
		},
		"packets are not written to files; use the trace of a running engine": {"ToDump", "ToIPSummaryDump", "ToTcpdump", "ToYYSummaryDump"},
		"no host or socket lies behind; use an interface of the chain": {
			"KernelTun", "KernelTap", "ToSocket", "FromSocket", "Socket", "FromRawSocket", "ToRawSocket", "RawSocket", "FromHostDevice", "ToHostDevice", "FromDPDKRing", "ToDPDKRing",
			"FromUserDevice", "ToUserDevice",
		},
		"headers are not put around packets or taken off; an interface puts Ethernet's, and VLANs are set by SetField of an elements function": {
			"IPEncap", "UDPIPEncap", "TCPIPEncap", "ICMPPingEncap", "StripIPHeader", "UnstripIPHeader", "EtherVLANEncap", "VLANEncap", "VLANDecap", "SetVLANAnno", "StripEtherVLANHeader",
			"StripTransportHeader", "GREEncap", "IPsecESPEncap", "IPsecESPUnencap", "RadixIPsecLookup", "WebGen", "PPPControlProtocol", "WifiEncap", "WifiDecap", "ToNetworkHeader",
		},
		"IPv6 is not forwarded; take it out": {
			"Classifier6", "IP6Classifier", "CheckIP6Header", "LookupIP6Route", "DecIP6HLIM", "ICMP6Error", "IP6NDAdvertiser", "IP6NDSolicitor", "IP6Mirror", "ProtocolTranslator64",
			"ProtocolTranslator46", "AddressTranslator", "MarkIP6Header", "GetIP6Address", "SetIP6Address", "IP6Fragmenter", "IP6Print",
		},
		"Ethernet addresses are an interface's business; use a route lookup and ARPQuerier": {
			"EtherMirror", "EtherSwitch", "ListenEtherSwitch", "EtherSpanTree", "Suppressor", "HostEtherFilter", "EtherPauseSource", "ARPPrint", "CheckARPHeader", "SetEtherAddress",
		},
		"only constants are written to headers; use StoreIPAddress(address, src|dst), or SetField of an elements function": {
			"SetIPDSCP", "SetIPECN", "SetTCPChecksum", "SetUDPChecksum", "SetIPChecksum", "IPMirror", "StoreData", "SetRandIPAddress", "StoreUDPTimeSeqRecord", "MarkIPCE", "RoundTripCycleCount",
			"StoreAnno", "SetAnnoByte", "UpdateDstIPAddr", "UDPRewriterMP", "SetIPTTL",
		},
		"packets are not put together; take it out": {"IPReassembler", "TCPReorder", "TCPIn", "TCPOut", "TCPRetransmitter", "TCPBuffer"},
		"the contents of packets are not read; take it out": {
			"FTPPortMapper", "Search", "SearchStringReplacer", "WordMatcher", "HTTPIn", "HTTPOut", "DNSProxy", "IPRewriterApp", "CTXDispatcher", "FlowClassifier", "TCPMirror", "FlowIDSMatcher",
		},
		"addresses are translated together with ports, or not at all: a pool of addresses that hosts get one by one has no counterpart; use IPRewriter with a pattern of an address and ports": {
			"SIPHMapper", "SourceIPHashMapper",
		},
		"lengths of packets cannot be matched or changed; take it out":                                            {"CheckPacketLength", "Truncate", "Pad", "Chopper", "LengthSwitch"},
		"state of IP options is not kept; the interface drops source routes, and other options are carried along": {"CheckIPOptions", "LookupIPSourceRoute"},
		"DHCP is not spoken; give interfaces their addresses":                                                     {"DHCPServerOffer", "DHCPClient", "LeasePool"},
	} {
		for _, name := range names {
			refused[name] = reason
		}
	}
}
