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
// TCP options are flags; several ask for all. They hold for TCP alone, and for first fragments.
p0 -> CheckIPHeader -> c :: IPClassifier(
    syn and not ack,
    fin ack,
    tcp opt rst,
    not tcp opt psh && tcp,
    tcp,
    icmp type != 8);
c[0] -> StoreIPAddress(203.0.113.100, dst) -> GetIPAddress(16) -> p1;
c[1] -> StoreIPAddress(203.0.113.101, dst) -> GetIPAddress(16) -> p1;
c[2] -> StoreIPAddress(203.0.113.102, dst) -> GetIPAddress(16) -> p1;
c[3] -> StoreIPAddress(203.0.113.103, dst) -> GetIPAddress(16) -> p1;
c[4] -> StoreIPAddress(203.0.113.104, dst) -> GetIPAddress(16) -> p1;
c[5] -> StoreIPAddress(203.0.113.105, dst) -> GetIPAddress(16) -> p1;
p1 -> CheckIPHeader -> p0;
//< eth0 tcp 10.0.0.2:1 8.8.8.8:2 flags=S
//> eth1 tcp 10.0.0.2:1 203.0.113.100:2 flags=S
//< eth0 tcp 10.0.0.2:1 8.8.8.8:2 flags=FA
//> eth1 tcp 10.0.0.2:1 203.0.113.101:2 flags=FA
//< eth0 tcp 10.0.0.2:1 8.8.8.8:2 flags=R
//> eth1 tcp 10.0.0.2:1 203.0.113.102:2 flags=R
//< eth0 tcp 10.0.0.2:1 8.8.8.8:2 flags=A
//> eth1 tcp 10.0.0.2:1 203.0.113.103:2 flags=A
//< eth0 tcp 10.0.0.2:1 8.8.8.8:2 flags=PA
//> eth1 tcp 10.0.0.2:1 203.0.113.104:2 flags=PA
//< eth0 udp 10.0.0.2:1 8.8.8.8:2
//! click/c/unmatched
//< eth0 icmp 10.0.0.2 8.8.8.8 type=8
//! click/c/unmatched
//< eth0 icmp 10.0.0.2 8.8.8.8 type=13
//> eth1 icmp 10.0.0.2 203.0.113.105 type=13
