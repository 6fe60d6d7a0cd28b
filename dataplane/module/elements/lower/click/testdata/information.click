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
// Elements that say how Click is driven mean nothing here.
require(library "x");
ControlSocket(unix, /tmp/x, RETRIES 3); ScheduleInfo(p0 0.1); StaticThreadSched(p0 0, p1 1); DriverManager(pause, print $(p0/q.drops));
Script(TYPE ACTIVE, init x 0, wait 1); AlignmentInfo(p0 4 2);
p0 -> CheckIPHeader -> Print("in", 20) -> SetTimestamp -> AverageCounter -> p1; p1 -> CheckIPHeader -> p0;
//< eth0 udp 10.0.0.2:1 203.0.113.9:2
//> eth1 udp 10.0.0.2:1 203.0.113.9:2
