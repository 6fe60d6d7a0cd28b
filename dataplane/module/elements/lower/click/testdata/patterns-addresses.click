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
// Addresses and networks: src or dst if nothing is said; both with and.
p0 -> CheckIPHeader -> c :: IPClassifier(
    src host 10.0.0.9,
    dst net 192.0.2.0/24,
    src and dst net 10.0.0.0/8,
    host 198.51.100.7 or 198.51.100.8,
    net 198.51.100.0 mask 255.255.255.128,
    src host != 10.0.0.3 and dst host 198.51.100.200,
    -);
c[0] -> StoreIPAddress(203.0.113.100, dst) -> GetIPAddress(16) -> p1;
c[1] -> StoreIPAddress(203.0.113.101, dst) -> GetIPAddress(16) -> p1;
c[2] -> StoreIPAddress(203.0.113.102, dst) -> GetIPAddress(16) -> p1;
c[3] -> StoreIPAddress(203.0.113.103, dst) -> GetIPAddress(16) -> p1;
c[4] -> StoreIPAddress(203.0.113.104, dst) -> GetIPAddress(16) -> p1;
c[5] -> StoreIPAddress(203.0.113.105, dst) -> GetIPAddress(16) -> p1;
c[6] -> StoreIPAddress(203.0.113.106, dst) -> GetIPAddress(16) -> p1;
p1 -> CheckIPHeader -> p0;
//< eth0 udp 10.0.0.9:1 8.8.8.8:2
//> eth1 udp 10.0.0.9:1 203.0.113.100:2
//< eth0 udp 10.0.0.2:1 192.0.2.255:2
//> eth1 udp 10.0.0.2:1 203.0.113.101:2
//< eth0 udp 10.0.0.2:1 10.200.0.1:2
//> eth1 udp 10.0.0.2:1 203.0.113.102:2
//< eth0 udp 10.0.0.2:1 198.51.100.8:2
//> eth1 udp 10.0.0.2:1 203.0.113.103:2
//< eth0 udp 10.0.0.2:1 198.51.100.127:2
//> eth1 udp 10.0.0.2:1 203.0.113.104:2
//< eth0 udp 10.0.0.2:1 198.51.100.200:2
//> eth1 udp 10.0.0.2:1 203.0.113.105:2
//< eth0 udp 10.0.0.3:1 198.51.100.200:2
//> eth1 udp 10.0.0.3:1 203.0.113.106:2
//< eth0 udp 10.0.0.2:1 198.51.100.128:2
//> eth1 udp 10.0.0.2:1 203.0.113.106:2
