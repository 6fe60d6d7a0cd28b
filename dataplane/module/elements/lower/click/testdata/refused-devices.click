FromDevice(eth0) -> ToDevice(eth1);
AddressInfo(eth0 10.0.0.1);
