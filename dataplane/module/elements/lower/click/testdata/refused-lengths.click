AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
FromDevice(eth0) -> Strip(14) -> CheckIPHeader -> cl :: CheckLength(1000); cl[1] -> Discard;
cl -> ARPQuerier(203.0.113.1, 2:0:0:0:0:2) -> ToDevice(eth1);
