AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
n :: Null -> m :: Queue -> Unqueue -> n; FromDevice(eth0) -> n; Idle -> ToDevice(eth1);
