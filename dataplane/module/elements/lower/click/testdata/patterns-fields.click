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
// Fields of the IP header: protocol, DSCP, TOS under a mask, TTL, version, bytes.
p0 -> CheckIPHeader -> c :: IPClassifier(
    ip proto igmp,
    ip dscp 46,
    ip tos & 0xfc == 0x28,
    ip ttl >= 250,
    ip proto != 17 and ip vers 4 and ip hl >= 5 and src host 10.0.0.7,
    ip[9] 47,
    tcp[13] & 0x12 == 0x12,
    icmp type 8,
    ip unfrag);
c[0] -> StoreIPAddress(203.0.113.100, dst) -> GetIPAddress(16) -> p1;
c[1] -> StoreIPAddress(203.0.113.101, dst) -> GetIPAddress(16) -> p1;
c[2] -> StoreIPAddress(203.0.113.102, dst) -> GetIPAddress(16) -> p1;
c[3] -> StoreIPAddress(203.0.113.103, dst) -> GetIPAddress(16) -> p1;
c[4] -> StoreIPAddress(203.0.113.104, dst) -> GetIPAddress(16) -> p1;
c[5] -> StoreIPAddress(203.0.113.105, dst) -> GetIPAddress(16) -> p1;
c[6] -> StoreIPAddress(203.0.113.106, dst) -> GetIPAddress(16) -> p1;
c[7] -> StoreIPAddress(203.0.113.107, dst) -> GetIPAddress(16) -> p1;
c[8] -> StoreIPAddress(203.0.113.108, dst) -> GetIPAddress(16) -> p1;
p1 -> CheckIPHeader -> p0;
//< eth0 igmp 10.0.0.2 8.8.8.8
//> eth1 igmp 10.0.0.2 203.0.113.100
//< eth0 udp 10.0.0.2:1 8.8.8.8:2 dscp=46
//> eth1 udp 10.0.0.2:1 203.0.113.101:2 dscp=46
//< eth0 udp 10.0.0.2:1 8.8.8.8:2 dscp=10
//> eth1 udp 10.0.0.2:1 203.0.113.102:2 dscp=10
//< eth0 udp 10.0.0.2:1 8.8.8.8:2 ttl=255
//> eth1 udp 10.0.0.2:1 203.0.113.103:2 ttl=255
//< eth0 tcp 10.0.0.7:1 8.8.8.8:2
//> eth1 tcp 10.0.0.7:1 203.0.113.104:2
//< eth0 gre 10.0.0.2 8.8.8.8
//> eth1 gre 10.0.0.2 203.0.113.105
//< eth0 tcp 10.0.0.2:1 8.8.8.8:2 flags=SA
//> eth1 tcp 10.0.0.2:1 203.0.113.106:2 flags=SA
//< eth0 icmp 10.0.0.2 8.8.8.8 type=8 id=1
//> eth1 icmp 10.0.0.2 203.0.113.107 type=8 id=1
//< eth0 udp 10.0.0.2:1 8.8.8.8:2
//> eth1 udp 10.0.0.2:1 203.0.113.108:2
