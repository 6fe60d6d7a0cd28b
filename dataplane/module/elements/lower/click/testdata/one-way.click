AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
// Nobody takes what the second device gets.
FromDevice(eth0) -> Queue(100) -> ToDevice(eth1);
//< eth0 udp 10.0.0.2:1000 203.0.113.9:53
//> eth1 udp 10.0.0.2:1000 203.0.113.9:53
