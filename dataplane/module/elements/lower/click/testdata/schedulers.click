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
// Queues by priority, and their scheduler: no packet waits, so that all pass as they come.
ps :: PrioSched -> Unqueue -> p1;
p0 -> CheckIPHeader -> c :: IPClassifier(ip dscp 46, -) => Queue(10), ThreadSafeQueue(100) => [0]ps, [1]ps;
p1 -> CheckIPHeader -> Null -> p0;
//< eth0 udp 10.0.0.2:1 203.0.113.9:2 dscp=46
//> eth1 udp 10.0.0.2:1 203.0.113.9:2 dscp=46
//< eth0 udp 10.0.0.2:1 203.0.113.9:2
//> eth1 udp 10.0.0.2:1 203.0.113.9:2
