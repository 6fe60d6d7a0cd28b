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
// SetIPAddress sends packets to a next hop, whatever their destination, and a table looks it up in place of that.
p0 -> CheckIPHeader -> c :: IPClassifier(udp, -);
c[0] -> SetIPAddress(203.0.113.254) -> p1;
c[1] -> SetIPAddress(10.0.0.9) -> rt :: RadixIPLookup(10.0.0.0/24 0, 0/0 203.0.113.253 1);
rt[0] -> p0; rt[1] -> p1;
p1 -> CheckIPHeader -> SetIPAddress(10.0.0.77) -> GetIPAddress(16) -> p0;
//< eth0 udp 10.0.0.2:1 8.8.8.8:2
//> eth1 udp 10.0.0.2:1 8.8.8.8:2 via=203.0.113.254
//< eth0 tcp 10.0.0.2:1 8.8.8.8:2
//> eth0 tcp 10.0.0.2:1 8.8.8.8:2 via=10.0.0.9
//< eth1 udp 203.0.113.9:1 10.0.0.2:2
//> eth0 udp 203.0.113.9:1 10.0.0.2:2
