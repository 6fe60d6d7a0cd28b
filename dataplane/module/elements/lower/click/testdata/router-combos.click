AddressInfo(port-0 10.0.0.1/24, port-1 203.0.113.1/24, host0 10.0.0.2 02:00:00:00:00:aa, host1 203.0.113.9 02:00:00:00:00:bb);
// FastClick's combined elements; the next hop is named by its Ethernet address.
elementclass Arp { input -> c :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -); c[0], c[1], c[3] -> Discard; c[2] -> output }
rt :: LookupIPRouteMP(10.0.0.0/24 0, 203.0.113.0/24 1);
FromDPDKDevice(0, BURST 32) -> Arp -> IPInputCombo(1) -> rt;
FromDPDKDevice(1, N_QUEUES 2) -> Arp -> IPInputCombo(2) -> rt;
rt[0] -> o0 :: IPOutputCombo(1, 10.0.0.1, 1500) -> EtherEncap(0x0800, 02:00:00:00:00:01, 02:00:00:00:00:aa) -> ToDPDKDevice(0);
rt[1] -> o1 :: IPOutputCombo(2, 203.0.113.1, 1500) -> EtherEncap(0x0800, 02:00:00:00:00:02, 02:00:00:00:00:bb) -> ToDPDKDevice(1);
o0[1], o1[1], o0[2], o1[2], o0[4], o1[4] -> same :: Discard;
o0[3] -> ICMPError(10.0.0.1, timeexceeded) -> rt;
o1[3] -> ICMPError(203.0.113.1, timeexceeded) -> rt;
//< port-0 udp 10.0.0.2:1000 203.0.113.77:53
//> port-1 udp 10.0.0.2:1000 203.0.113.77:53 ttl=63 via=203.0.113.9
//< port-0 udp 10.0.0.2:1000 203.0.113.77:53 ttl=1
//> port-0 icmp 10.0.0.1 10.0.0.2 type=11 code=0 ttl=63 dscp=48
//< port-0 udp 10.0.0.2:1000 10.0.0.9:53
//> port-0 udp 10.0.0.2:1000 10.0.0.9:53 ttl=63 via=10.0.0.2
//! click/same
