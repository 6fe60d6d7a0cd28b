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
// A firewall with state: flows that begin inside are kept, and only their replies come in.
rw :: IPRewriter(keep 0 1, drop);
p0 -> CheckIPHeader -> [0]rw; p1 -> CheckIPHeader -> [1]rw;
rw[0] -> p1; rw[1] -> p0;
//< eth1 tcp 203.0.113.9:80 10.0.0.2:1000
//! click/rw/drop
//< eth0 tcp 10.0.0.2:1000 203.0.113.9:80
//> eth1 tcp 10.0.0.2:1000 203.0.113.9:80
//< eth1 tcp 203.0.113.9:80 10.0.0.2:1000 flags=SA
//> eth0 tcp 203.0.113.9:80 10.0.0.2:1000 flags=SA
//< eth0 tcp 10.0.0.2:1000 203.0.113.9:80 flags=A
//> eth1 tcp 10.0.0.2:1000 203.0.113.9:80 flags=A
//< eth1 udp 203.0.113.9:53 10.0.0.2:1000
//! click/rw/drop
//< eth0 udp 10.0.0.2:1000 203.0.113.9:53
//> eth1 udp 10.0.0.2:1000 203.0.113.9:53
//< eth1 udp 203.0.113.9:53 10.0.0.2:1000
//> eth0 udp 203.0.113.9:53 10.0.0.2:1000
//+ 301s
//< eth1 udp 203.0.113.9:53 10.0.0.2:1000
//! click/rw/drop
//< eth0 gre 10.0.0.2 203.0.113.9
//! click/rw/protocol
