AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
FromDevice(eth0) -> EtherMirror -> RED(1, 2, 3) -> IPEncap(4, 1.1.1.1, 2.2.2.2) -> m :: Meter(100) -> ToDevice(eth1); m[1] -> RandomSwitch -> Discard;
InfiniteSource(LIMIT 5) -> FTPPortMapper(x, y, 0) -> SetIPDSCP(3) -> IPReassembler -> IP6Print -> ToDump(x);
