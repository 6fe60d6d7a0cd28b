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
// Packets from bad sources are dropped, or leave by output 1, unless they go to a good destination.
p0 -> ch :: CheckIPHeader(BADSRC 10.0.0.66 10.0.0.67, GOODDST 203.0.113.80) -> p1;
ch[1] -> bad :: Discard;
p1 -> CheckIPHeader2(INTERFACES 10.0.0.1/24 203.0.113.1/24, VERBOSE true) -> p0;
//< eth0 udp 10.0.0.66:1 203.0.113.9:2
//! click/bad
//< eth0 udp 10.0.0.66:1 203.0.113.80:2
//> eth1 udp 10.0.0.66:1 203.0.113.80:2
//< eth0 udp 10.0.0.68:1 203.0.113.9:2
//> eth1 udp 10.0.0.68:1 203.0.113.9:2
//< eth1 udp 203.0.113.9:1 10.0.0.2:2
//> eth0 udp 203.0.113.9:1 10.0.0.2:2
