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
// A rewriter for each protocol, with one pattern: TCP, UDP, ping, and errors about their flows.
IPRewriterPatterns(nat out 1024-65535 - -);
tcp_rw :: TCPRewriter(pattern nat 0 1, drop);
udp_rw :: UDPRewriter(pattern nat 0 1, drop);
ping_rw :: ICMPPingRewriter(pattern nat 0 1, drop);
err_rw :: ICMPRewriter(tcp_rw udp_rw ping_rw);
p0 -> CheckIPHeader -> i :: IPClassifier(tcp, udp, icmp type echo, -);
p1 -> CheckIPHeader -> o :: IPClassifier(tcp, udp, icmp type echo-reply, icmp, -);
i[0] -> tcp_rw; i[1] -> udp_rw; i[2] -> ping_rw; i[3] -> Discard;
o[0] -> [1]tcp_rw; o[1] -> [1]udp_rw; o[2] -> [1]ping_rw; o[3] -> err_rw; o[4] -> Discard;
tcp_rw[0], udp_rw[0], ping_rw[0] -> p1;
tcp_rw[1], udp_rw[1], ping_rw[1] -> p0;
err_rw -> p0;
//< eth0 tcp 10.0.0.2:1000 203.0.113.9:80
//> eth1 tcp 203.0.113.10:$p 203.0.113.9:80
//< eth1 tcp 203.0.113.9:80 203.0.113.10:$p flags=SA
//> eth0 tcp 203.0.113.9:80 10.0.0.2:1000 flags=SA
//< eth0 icmp 10.0.0.2 203.0.113.9 type=8 id=1000
//> eth1 icmp 203.0.113.10 203.0.113.9 type=8 code=0 id=$i
//< eth1 icmp 203.0.113.9 203.0.113.10 type=0 code=0 id=$i
//> eth0 icmp 203.0.113.9 10.0.0.2 type=0 id=1000
//< eth0 udp 10.0.0.2:1000 203.0.113.9:53
//> eth1 udp 203.0.113.10:$u 203.0.113.9:53
//< eth1 udp 203.0.113.9:53 203.0.113.10:$u
//> eth0 udp 203.0.113.9:53 10.0.0.2:1000
//< eth1 icmp 203.0.113.9 203.0.113.10 type=3 code=3
//! nat-no-binding
