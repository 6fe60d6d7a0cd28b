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
a :: IPRewriter(pattern out 1024-65535 - - 0 1, drop); b :: TCPRewriter(pattern out 1024-65535 - - 0 1, drop);
p0 -> CheckIPHeader -> c :: IPClassifier(port 80, -); c[0] -> a; c[1] -> b; p1 -> CheckIPHeader -> d :: IPClassifier(port 80, -); d[0] -> [1]a; d[1] -> [1]b;
a[0], b[0] -> p1; a[1], b[1] -> p0;
