AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24, mon 10.9.0.1/24, probe 10.9.0.2 02:00:00:00:09:02);

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
// A copy of what goes out is sent to a probe, by its Ethernet address.
p0 -> CheckIPHeader -> t :: Tee(2);
t[0] -> p1;
t[1] -> EtherEncap(0x0800, 02:00:00:00:09:01, 02:00:00:00:09:02) -> Queue -> ToDevice(mon);
p1 -> CheckIPHeader -> p0;
//< eth0 udp 10.0.0.2:1000 203.0.113.9:53 ttl=9
//> eth1 udp 10.0.0.2:1000 203.0.113.9:53 ttl=9
//> mon udp 10.0.0.2:1000 203.0.113.9:53 ttl=9 via=10.9.0.2
