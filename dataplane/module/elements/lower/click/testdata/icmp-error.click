AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);

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
// Errors by numbers and names; none about errors, and none about bad addresses.
p0 -> CheckIPHeader -> c :: IPClassifier(dst port 1, dst port 2, dst port 3, -);
c[0] -> ICMPError(10.0.0.1, unreachable, port) -> p0;
c[1] -> bad :: ICMPError(10.0.0.77, 3, 13, BADADDRS 10.0.0.9 203.0.113.255) -> p0;
c[2] -> ICMPError(10.0.0.1, timeexceeded, reassembly) -> p0;
c[3] -> ICMPError(10.0.0.1, 12) -> p0;
p1 -> CheckIPHeader -> p0;
//< eth0 udp 10.0.0.2:9 203.0.113.9:1
//> eth0 icmp 10.0.0.1 10.0.0.2 type=3 code=3 dscp=48
//< eth0 udp 10.0.0.2:9 203.0.113.9:2
//> eth0 icmp 10.0.0.77 10.0.0.2 type=3 code=13 dscp=48
//< eth0 udp 10.0.0.9:9 203.0.113.9:2
//! click/bad/bad-address
//< eth0 udp 10.0.0.2:9 203.0.113.9:3
//> eth0 icmp 10.0.0.1 10.0.0.2 type=11 code=1 dscp=48
//< eth0 gre 10.0.0.2 203.0.113.9
//> eth0 icmp 10.0.0.1 10.0.0.2 type=12 code=0 dscp=48
//< eth0 icmp 10.0.0.2 203.0.113.9 type=3 code=1
//! icmp-suppressed
