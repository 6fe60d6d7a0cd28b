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
// Packets of no mapping pass: those to other addresses than the pattern's cannot belong to one.
IPRewriterPatterns(nat out 50000-65535 - -);
rw :: IPRewriter(pattern nat 0 1, pass 1, UDP_TIMEOUT 60, TCP_TIMEOUT 1hr, MAPPING_CAPACITY 5000);
p0 -> CheckIPHeader -> [0]rw; p1 -> CheckIPHeader -> [1]rw;
rw[0] -> p1; rw[1] -> p0;
//< eth1 udp 203.0.113.9:53 10.0.0.2:1000
//> eth0 udp 203.0.113.9:53 10.0.0.2:1000
//< eth1 icmp 203.0.113.9 10.0.0.2 type=0 id=1
//> eth0 icmp 203.0.113.9 10.0.0.2 type=0 id=1
//< eth0 udp 10.0.0.2:1000 203.0.113.9:53
//> eth1 udp 203.0.113.10:$p 203.0.113.9:53
//+ 59s
//< eth1 udp 203.0.113.9:53 203.0.113.10:$p
//> eth0 udp 203.0.113.9:53 10.0.0.2:1000
//+ 61s
//< eth1 udp 203.0.113.9:53 203.0.113.10:$p
//! nat-no-binding
