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
// not binds most, then and, then or; terms side by side are and. Qualifiers carry over.
p0 -> CheckIPHeader -> c :: IPClassifier(
    tcp and dst port 80 or udp and dst port 53,
    not tcp and not udp,
    src port 5 or 6 or 7 dst port 8,
    (tcp or udp) ip ttl 9,
    ip ttl >= 30 ? false : !(ip ttl < 10 || ip ttl > 20),
    tcp ? dst port 1 : dst port 2,
    false,
    any);
c[0] -> StoreIPAddress(203.0.113.100, dst) -> GetIPAddress(16) -> p1;
c[1] -> StoreIPAddress(203.0.113.101, dst) -> GetIPAddress(16) -> p1;
c[2] -> StoreIPAddress(203.0.113.102, dst) -> GetIPAddress(16) -> p1;
c[3] -> StoreIPAddress(203.0.113.103, dst) -> GetIPAddress(16) -> p1;
c[4] -> StoreIPAddress(203.0.113.104, dst) -> GetIPAddress(16) -> p1;
c[5] -> StoreIPAddress(203.0.113.105, dst) -> GetIPAddress(16) -> p1;
c[6] -> StoreIPAddress(203.0.113.106, dst) -> GetIPAddress(16) -> p1;
c[7] -> StoreIPAddress(203.0.113.107, dst) -> GetIPAddress(16) -> p1;
p1 -> CheckIPHeader -> p0;
//< eth0 udp 10.0.0.2:1 8.8.8.8:53
//> eth1 udp 10.0.0.2:1 203.0.113.100:53
//< eth0 udp 10.0.0.2:1 8.8.8.8:80
//> eth1 udp 10.0.0.2:1 203.0.113.107:80
//< eth0 icmp 10.0.0.2 8.8.8.8 type=8
//> eth1 icmp 10.0.0.2 203.0.113.101 type=8
//< eth0 udp 10.0.0.2:5 8.8.8.8:9
//> eth1 udp 10.0.0.2:5 203.0.113.102:9
//< eth0 udp 10.0.0.2:7 8.8.8.8:9
//> eth1 udp 10.0.0.2:7 203.0.113.107:9
//< eth0 udp 10.0.0.2:7 8.8.8.8:8
//> eth1 udp 10.0.0.2:7 203.0.113.102:8
//< eth0 tcp 10.0.0.2:1 8.8.8.8:9 ttl=9
//> eth1 tcp 10.0.0.2:1 203.0.113.103:9 ttl=9
//< eth0 tcp 10.0.0.2:1 8.8.8.8:9 ttl=10
//> eth1 tcp 10.0.0.2:1 203.0.113.104:9 ttl=10
//< eth0 tcp 10.0.0.2:1 8.8.8.8:9 ttl=20
//> eth1 tcp 10.0.0.2:1 203.0.113.104:9 ttl=20
//< eth0 tcp 10.0.0.2:1 8.8.8.8:9 ttl=21
//> eth1 tcp 10.0.0.2:1 203.0.113.107:9 ttl=21
//< eth0 tcp 10.0.0.2:1 8.8.8.8:1
//> eth1 tcp 10.0.0.2:1 203.0.113.105:1
//< eth0 udp 10.0.0.2:1 8.8.8.8:2
//> eth1 udp 10.0.0.2:1 203.0.113.105:2
//< eth0 udp 10.0.0.2:1 8.8.8.8:1
//> eth1 udp 10.0.0.2:1 203.0.113.107:1
