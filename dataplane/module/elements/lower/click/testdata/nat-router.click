AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24, out 203.0.113.10, gw 203.0.113.254 02:00:00:00:02:54);

elementclass Port { $dev, $ip, $mac |
  FromDevice($dev) -> c :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
  q :: Queue(200) -> ToDevice($dev);
  c[0] -> ARPResponder($ip $mac) -> q;
  c[1] -> [1]arpq :: ARPQuerier($ip, $mac);
  c[2] -> Strip(14) -> output;
  c[3] -> Discard;
  input -> arpq -> q;
}
p0 :: Port(eth0, 10.0.0.1, 02:00:00:00:00:01);
p1 :: Port(eth1, 203.0.113.1, 02:00:00:00:00:02);
// A table behind the rewriter finds the way of translated packets.
rw :: IPRewriter(pattern 203.0.113.10-203.0.113.11 1024-65535 - - 0 1, drop);
p0 -> CheckIPHeader -> c :: IPClassifier(dst net 10.0.0.0/24, -);
c[0] -> p0;
c[1] -> [0]rw;
rw[0] -> rt :: LinearIPLookup(203.0.113.0/24 0, 0/0 203.0.113.254 0) -> DecIPTTL -> p1;
p1 -> CheckIPHeader -> [1]rw;
rw[1] -> DecIPTTL -> p0;
//< eth0 udp 10.0.0.2:1000 10.0.0.3:53
//> eth0 udp 10.0.0.2:1000 10.0.0.3:53
