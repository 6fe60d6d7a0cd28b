AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
rw :: IPRewriter(pattern 203.0.113.10 1024-65535 10.0.0.80 - 0 1, pattern - 1024-65535 - - 0 1, pattern nat 0 1, keep 0, pass 7, rr, patern 1 2 3);
rr :: RoundRobinIPMapper(- - 10.0.0.80 - 0 1);
FromDevice(eth0) -> MarkIPHeader(14) -> t :: Tee => [0-6]rw;
rw[0] -> ToDevice(eth1); rw[1] -> Discard;
IPAddrRewriter(pattern 203.0.113.10-203.0.113.20 - 0 1);
