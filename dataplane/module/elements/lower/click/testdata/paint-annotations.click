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
// Two annotations at once. A colour that no output has is dropped.
p0 -> CheckIPHeader -> Paint(7, ANNO 20) -> Paint(1) -> CheckPaint(7, 20) -> ps :: PaintSwitch(ANNO 20);
ps[0] -> p1;
p1 -> CheckIPHeader -> seven :: CheckPaint(7, ANNO 20) -> p0;
//< eth0 udp 10.0.0.2:1000 203.0.113.9:53
//! click/ps/paint-7
//< eth1 udp 203.0.113.9:53 10.0.0.2:1000
//! click/seven/1
