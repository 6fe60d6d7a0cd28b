AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
FromDevice(eth0) -> Strip(x) -> CheckIPHeader(14, COLOUR 3) -> Paint -> DecIPTTL(4) -> rt :: StaticIPLookup(10.0.0.0/33 0, 0/0 7, 1.2.3.4 x 0)
  -> EtherEncap(0x86dd, 1:1:1:1:1:1, gw) -> ToDevice;
FromDevice(eth1) -> Strip($n) -> ICMPError(10.0.0.1, unreachible) -> SetIPAddress(10.0.0.256) -> StoreIPAddress(10.0.0.1, 12) -> Discard;
