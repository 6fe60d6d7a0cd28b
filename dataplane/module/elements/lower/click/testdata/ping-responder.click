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
// ICMPPingResponder answers echo requests, also those for others; output 1 has the rest.
p0 -> CheckIPHeader -> pr :: ICMPPingResponder; pr[0] -> p0; pr[1] -> p1;
p1 -> CheckIPHeader -> only :: ICMPPingResponder -> p1;
//< eth0 icmp 10.0.0.2 203.0.113.9 type=8 id=5
//> eth0 icmp 203.0.113.9 10.0.0.2 type=0 id=5
//< eth0 icmp 10.0.0.2 203.0.113.9 type=0 id=5
//> eth1 icmp 10.0.0.2 203.0.113.9 type=0 id=5
//< eth0 udp 10.0.0.2:1 203.0.113.9:2
//> eth1 udp 10.0.0.2:1 203.0.113.9:2
//< eth1 udp 203.0.113.9:1 10.0.0.2:2
//! click/only/no-echo
