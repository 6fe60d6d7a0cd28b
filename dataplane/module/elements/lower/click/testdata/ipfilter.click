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
// The first pattern that matches decides; what none matches is dropped.
p0 -> CheckIPHeader -> out :: IPFilter(
    deny dst port 25,                       // no mail
    allow src net 10.0.0.0/24 and (tcp or udp or icmp type echo),
    drop all) -> p1;
p1 -> CheckIPHeader -> in :: IPFilter(
    allow dst host 10.0.0.80 && tcp dst port 80 or 443,
    allow tcp && ack && dst port > 1023,
    allow udp src port 53,
    allow icmp type echo-reply or timeexceeded or unreachable,
    1 tcp and syn and not ack) -> p0;
in[1] -> new :: Discard;
//< eth0 tcp 10.0.0.2:1000 203.0.113.9:25
//! click/out/unmatched
//< eth0 tcp 10.0.0.2:1000 203.0.113.9:80
//> eth1 tcp 10.0.0.2:1000 203.0.113.9:80
//< eth0 icmp 10.0.0.2 203.0.113.9 type=8 id=3
//> eth1 icmp 10.0.0.2 203.0.113.9 type=8 id=3
//< eth0 icmp 10.0.0.2 203.0.113.9 type=13 id=3
//! click/out/unmatched
//< eth0 gre 10.0.0.2 203.0.113.9
//! click/out/unmatched
//< eth1 tcp 203.0.113.9:4000 10.0.0.80:80
//> eth0 tcp 203.0.113.9:4000 10.0.0.80:80
//< eth1 tcp 203.0.113.9:4000 10.0.0.81:443
//> eth0 tcp 203.0.113.9:4000 10.0.0.81:443
//< eth1 tcp 203.0.113.9:80 10.0.0.2:1024 flags=SA
//> eth0 tcp 203.0.113.9:80 10.0.0.2:1024 flags=SA
//< eth1 tcp 203.0.113.9:80 10.0.0.2:1023 flags=SA
//! click/in/unmatched
//< eth1 tcp 203.0.113.9:80 10.0.0.2:1024 flags=S
//! click/new
//< eth1 udp 203.0.113.9:53 10.0.0.2:9
//> eth0 udp 203.0.113.9:53 10.0.0.2:9
//< eth1 icmp 203.0.113.9 10.0.0.2 type=11
//> eth0 icmp 203.0.113.9 10.0.0.2 type=11
//< eth1 icmp 203.0.113.9 10.0.0.2 type=8
//! click/in/unmatched
