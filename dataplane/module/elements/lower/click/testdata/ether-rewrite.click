AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24, next 203.0.113.254 02:00:00:00:02:54);
// Frames are classified with their Ethernet header on, which EtherRewrite then changes.
FromDevice(eth0) -> Classifier(12/0800) -> MarkIPHeader(14) -> c :: IPClassifier(tcp or udp) -> EtherRewrite(02:00:00:00:00:02, next:eth) -> ToDevice(eth1);
FromDevice(eth1) -> Classifier(12/0800) -> CheckIPHeader(14) -> StoreEtherAddress(02:00:00:00:00:01, src) -> Strip(14) -> Unstrip(14) -> ToDevice(eth0);
//< eth0 tcp 10.0.0.2:1 8.8.8.8:2
//> eth1 tcp 10.0.0.2:1 8.8.8.8:2 via=203.0.113.254
//< eth0 gre 10.0.0.2 8.8.8.8
//! click/c/unmatched
//< eth1 tcp 8.8.8.8:2 10.0.0.2:1 flags=SA
//> eth0 tcp 8.8.8.8:2 10.0.0.2:1 flags=SA
