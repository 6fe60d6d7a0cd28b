AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
FromDevice(eth0) -> IPPrint -> d :: Discard; Idle -> Queue -> ToDevice(eth1);
//< eth0 udp 10.0.0.2:1000 203.0.113.9:53
//! click/d
