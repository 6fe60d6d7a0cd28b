AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
c :: IPClassifier(tcp, udp); FromDevice(eth0) -> c -> ToDevice(eth1);
Tee(2) -> Discard; x :: DecIPTTL; FromDevice(eth1) -> x -> Discard; x[2] -> Discard; x -> ToDevice(eth0);
