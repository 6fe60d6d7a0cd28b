AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
FromDevice(eth0) -> Strip(14) -> CheckIPHeader -> fr :: IPFragmenter(1024) -> ARPQuerier(203.0.113.1, 2:0:0:0:0:2) -> ToDevice(eth1); fr[1] -> Discard;
