AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
// Frames go from one device to the other, and are counted.
FromDevice(eth0) -> Counter -> ToDevice(eth1);
FromDevice(eth1) -> Counter -> ToDevice(eth0);
//< eth0 udp 10.0.0.2:1000 203.0.113.9:53
//> eth1 udp 10.0.0.2:1000 203.0.113.9:53
//< eth1 tcp 203.0.113.9:53 10.0.0.2:1000 flags=SA ttl=1
//> eth0 tcp 203.0.113.9:53 10.0.0.2:1000 flags=SA ttl=1
