AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
FromDevice(eth0) -> Strip(14) -> rt :: StaticIPLookup(0/0 0) -> ARPQuerier(203.0.113.1, 2:0:0:0:0:2) -> ToDevice(eth1);
FromDevice(eth1) -> Strip(14) -> CheckIPHeader -> r2 :: StaticIPLookup(10.0.0.0/25 10.0.0.7 0, 10.0.0.128/25 10.0.0.8 0)
  -> r3 :: RadixIPLookup(10.0.0.7/32 0) -> ARPQuerier(10.0.0.1, 2:0:0:0:0:1) -> ToDevice(eth0);
