AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
n :: Counter -> c :: IPClassifier(tcp, -) -> n; c[1] -> Discard; FromDevice(eth0) -> MarkIPHeader(14) -> n; Idle -> ToDevice(eth1);
