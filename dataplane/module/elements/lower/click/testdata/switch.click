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
// A switch sends all packets to one output; a negative one drops them.
p0 -> CheckIPHeader -> s :: StaticSwitch(1); s[0] -> Discard; s[1] -> p1;
p1 -> CheckIPHeader -> z :: Switch(-1); z[0] -> p0;
//< eth0 udp 10.0.0.2:1000 203.0.113.9:53
//> eth1 udp 10.0.0.2:1000 203.0.113.9:53
//< eth1 udp 203.0.113.9:53 10.0.0.2:1000
//! click/z/closed
