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
// Routes are in any order; the longest prefix decides.
rt :: DirectIPLookup(0/0 203.0.113.254 1, 192.168/16 203.0.113.253 1, 192.168.7.0/24 10.0.0.7 0, 192.168.7.9/32 203.0.113.252 1, 10.0.0.0/24 0, 203.0.113/24 1);
p0, p1 -> CheckIPHeader -> rt;
rt[0] -> p0; rt[1] -> p1;
//< eth0 udp 10.0.0.2:1 192.168.1.1:2
//> eth1 udp 10.0.0.2:1 192.168.1.1:2 via=203.0.113.253
//< eth1 udp 203.0.113.9:1 192.168.7.1:2
//> eth0 udp 203.0.113.9:1 192.168.7.1:2 via=10.0.0.7
//< eth0 udp 10.0.0.2:1 192.168.7.9:2
//> eth1 udp 10.0.0.2:1 192.168.7.9:2 via=203.0.113.252
//< eth0 udp 10.0.0.2:1 9.9.9.9:2
//> eth1 udp 10.0.0.2:1 9.9.9.9:2 via=203.0.113.254
