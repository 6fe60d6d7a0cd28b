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
// NAPT: TCP and UDP from inside get the outside address and a port of the range; replies are rewritten back.
rw :: IPRewriter(pattern out 1024-65535 - - 0 1, drop);
p0 -> CheckIPHeader -> [0]rw; p1 -> CheckIPHeader -> [1]rw;
rw[0] -> SetIPAddress(gw) -> p1; rw[1] -> p0;
//< eth0 udp 10.0.0.2:1000 8.8.8.8:53
//> eth1 udp 203.0.113.10:$p 8.8.8.8:53 via=203.0.113.254
//< eth1 udp 8.8.8.8:53 203.0.113.10:$p
//> eth0 udp 8.8.8.8:53 10.0.0.2:1000
//< eth0 tcp 10.0.0.3:1000 8.8.8.8:80
//> eth1 tcp 203.0.113.10:$q 8.8.8.8:80 via=203.0.113.254
//< eth1 tcp 8.8.8.8:80 203.0.113.10:$q flags=SA
//> eth0 tcp 8.8.8.8:80 10.0.0.3:1000 flags=SA
// No mapping, other destinations, other protocols.
//< eth1 tcp 8.8.8.8:81 203.0.113.10:$q flags=SA
//! nat-no-binding
//< eth1 tcp 8.8.8.8:80 203.0.113.11:5000
//! click/rw/drop
//< eth0 icmp 10.0.0.2 8.8.8.8 type=8 id=5
//! click/rw/protocol
