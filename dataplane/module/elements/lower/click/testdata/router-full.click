AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
// An IP router as Click's authors describe it, with its error paths.
elementclass In { $dev, $color, $ip, $eth |
  FromDevice($dev) -> c :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
  c[0] -> ARPResponder($ip $eth) -> [1]output;
  c[1] -> [2]output;
  c[2] -> Paint($color) -> Strip(14) -> CheckIPHeader(INTERFACES 10.0.0.1/24 203.0.113.1/24) -> GetIPAddress(16) -> output;
  c[3] -> Discard;
}
elementclass Out { $color, $ip, $eth |
  input -> DropBroadcasts -> cp :: PaintTee($color) -> gio :: IPGWOptions($ip) -> FixIPSrc($ip) -> dt :: DecIPTTL
        -> fr :: IPFragmenter(1500) -> arpq :: ARPQuerier($ip, $eth) -> output;
  input[1] -> [1]arpq;
  cp[1] -> red :: ICMPError($ip, redirect, host) -> [1]output;
  gio[1] -> ICMPError($ip, parameterproblem) -> [1]output;
  dt[1] -> ICMPError($ip, timeexceeded) -> [1]output;
  fr[1] -> ICMPError($ip, unreachable, needfrag) -> [1]output;
}
in0 :: In(eth0, 1, 10.0.0.1, 02:00:00:00:00:01); in1 :: In(eth1, 2, 203.0.113.1, 02:00:00:00:00:02);
out0 :: Out(1, 10.0.0.1, 02:00:00:00:00:01); out1 :: Out(2, 203.0.113.1, 02:00:00:00:00:02);
q0 :: Queue(200) -> ToDevice(eth0); q1 :: Queue(200) -> ToDevice(eth1);
rt :: StaticIPLookup(10.0.0.1/32 0, 10.0.0.255/32 0, 203.0.113.1/32 0, 203.0.113.255/32 0, 10.0.0.0/24 1, 203.0.113.0/24 2, 0.0.0.0/0 203.0.113.254 2);
in0, in1 -> rt;
in0[1] -> q0; in0[2] -> [1]out0; in1[1] -> q1; in1[2] -> [1]out1;
rt[0] -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> ToHost;
rt[1] -> out0 -> q0; rt[2] -> out1 -> q1;
out0[1], out1[1] -> rt;
//< eth0 udp 10.0.0.2:1000 8.8.8.8:53
//> eth1 udp 10.0.0.2:1000 8.8.8.8:53 ttl=63 via=203.0.113.254
// An error about what came by eth0 leaves by eth0, with that address (FixIPSrc).
//< eth0 udp 10.0.0.2:1000 8.8.8.8:53 ttl=1
//> eth0 icmp 10.0.0.1 10.0.0.2 type=11 code=0 ttl=63 dscp=48
//< eth1 udp 8.8.8.8:53 10.0.0.2:1000 ttl=1
//> eth1 icmp 203.0.113.1 8.8.8.8 type=11 code=0 ttl=63 dscp=48 via=203.0.113.254
// What leaves by where it came from is forwarded. The redirect is not sent.
//< eth1 udp 203.0.113.9:1 8.8.8.8:53
//> eth1 udp 203.0.113.9:1 8.8.8.8:53 ttl=63 via=203.0.113.254
//! click/out1/red/redirect
// The router's own addresses are the interfaces'.
//< eth0 icmp 10.0.0.2 203.0.113.1 type=8 id=7
//> eth0 icmp 203.0.113.1 10.0.0.2 type=0 id=7
