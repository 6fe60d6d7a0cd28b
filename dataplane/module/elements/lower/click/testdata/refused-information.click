AddressInfo(eth0 10.0.0.1/24 fe80::1, eth1, x 10.0.0.300);
FromDevice(eth0) -> AddressInfo -> ToDevice(eth0);
