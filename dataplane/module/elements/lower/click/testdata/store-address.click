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
// Static translation of one host: StoreIPAddress writes the address, and the checksums with it.
p0 -> CheckIPHeader -> f :: IPFilter(allow src host 10.0.0.5) -> StoreIPAddress(203.0.113.5, src) -> p1;
p1 -> CheckIPHeader -> IPFilter(allow dst host 203.0.113.5) -> StoreIPAddress(10.0.0.5, dst) -> GetIPAddress(16) -> p0;
//< eth0 tcp 10.0.0.5:1000 203.0.113.9:80
//> eth1 tcp 203.0.113.5:1000 203.0.113.9:80
//< eth0 tcp 10.0.0.6:1000 203.0.113.9:80
//! click/f/unmatched
//< eth1 tcp 203.0.113.9:80 203.0.113.5:1000 flags=SA
//> eth0 tcp 203.0.113.9:80 10.0.0.5:1000 flags=SA
