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
// PaintTee copies packets of its colour; PaintSwitch sends the colour 255 to all outputs.
p0 -> CheckIPHeader -> Paint(3) -> pt :: PaintTee(3) -> p1;
pt[1] -> Paint(255) -> ps :: PaintSwitch;
ps[0] -> d :: Discard; ps[1] -> SetIPAddress(10.0.0.9) -> p0;
p1 -> CheckIPHeader -> p0;
//< eth0 udp 10.0.0.2:1000 203.0.113.9:53
//> eth1 udp 10.0.0.2:1000 203.0.113.9:53
//! click/d
//> eth0 udp 10.0.0.2:1000 203.0.113.9:53 via=10.0.0.9
