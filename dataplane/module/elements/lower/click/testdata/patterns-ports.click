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
// Ports: of TCP and UDP alone; != of a port is no negation.
p0 -> CheckIPHeader -> c :: IPClassifier(
    udp port dns,
    src port 20-25,
    tcp port >= 80 and src port 5,
    dst tcp port != 80 and src tcp port 9,
    not (port 80),
    src or dst port & 0xff00 == 0x1f00,
    true);
c[0] -> StoreIPAddress(203.0.113.100, dst) -> GetIPAddress(16) -> p1;
c[1] -> StoreIPAddress(203.0.113.101, dst) -> GetIPAddress(16) -> p1;
c[2] -> StoreIPAddress(203.0.113.102, dst) -> GetIPAddress(16) -> p1;
c[3] -> StoreIPAddress(203.0.113.103, dst) -> GetIPAddress(16) -> p1;
c[4] -> StoreIPAddress(203.0.113.104, dst) -> GetIPAddress(16) -> p1;
c[5] -> StoreIPAddress(203.0.113.105, dst) -> GetIPAddress(16) -> p1;
c[6] -> StoreIPAddress(203.0.113.106, dst) -> GetIPAddress(16) -> p1;
p1 -> CheckIPHeader -> p0;
//< eth0 udp 10.0.0.2:53 8.8.8.8:80
//> eth1 udp 10.0.0.2:53 203.0.113.100:80
//< eth0 tcp 10.0.0.2:22 8.8.8.8:80
//> eth1 tcp 10.0.0.2:22 203.0.113.101:80
//< eth0 tcp 10.0.0.2:26 8.8.8.8:80
//> eth1 tcp 10.0.0.2:26 203.0.113.106:80
//< eth0 tcp 10.0.0.2:5 8.8.8.8:80
//> eth1 tcp 10.0.0.2:5 203.0.113.102:80
//< eth0 tcp 10.0.0.2:9 8.8.8.8:81
//> eth1 tcp 10.0.0.2:9 203.0.113.103:81
//< eth0 icmp 10.0.0.2 8.8.8.8 type=8 id=1
//> eth1 icmp 10.0.0.2 203.0.113.104 type=8 id=1
//< eth0 gre 10.0.0.2 8.8.8.8
//> eth1 gre 10.0.0.2 203.0.113.104
//< eth0 tcp 10.0.0.2:7999 8.8.8.8:80
//> eth1 tcp 10.0.0.2:7999 203.0.113.105:80
//< eth0 tcp 10.0.0.2:9 8.8.8.8:80
//> eth1 tcp 10.0.0.2:9 203.0.113.106:80
