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
// The smallest IP router: each interface with ARP, a table, the TTL.
rt :: RadixIPLookup(10.0.0.0/24 0, 203.0.113.0/24 1, 0.0.0.0/0 203.0.113.254 1);
p0, p1 -> CheckIPHeader -> rt;
rt[0] -> DecIPTTL -> p0;
rt[1] -> ttl :: DecIPTTL -> p1;
//< eth0 udp 10.0.0.2:1000 203.0.113.9:53
//> eth1 udp 10.0.0.2:1000 203.0.113.9:53 ttl=63
//< eth0 udp 10.0.0.2:1000 8.8.8.8:53
//> eth1 udp 10.0.0.2:1000 8.8.8.8:53 ttl=63 via=203.0.113.254
//< eth1 tcp 8.8.8.8:80 10.0.0.2:5000 flags=SA
//> eth0 tcp 8.8.8.8:80 10.0.0.2:5000 flags=SA ttl=63
//< eth0 udp 10.0.0.2:1000 8.8.8.8:53 ttl=1
//! click/ttl/expired
