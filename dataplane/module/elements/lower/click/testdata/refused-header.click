AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
FromDevice(eth0) -> CheckIPHeader -> ToDevice(eth1);
FromDevice(eth1) -> Strip(14) -> CheckIPHeader -> ToDevice(eth0);
