AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
FromDevice(eth0) -> rs :: RatedSplitter(100) -> ToDevice(eth1); rs[1] -> Counter -> Discard;
