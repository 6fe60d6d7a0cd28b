AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
// Classifier reads bytes: of the Ethernet header first, then of the IP header behind Strip(14).
q :: Queue -> ToDevice(eth1);
arpq :: ARPQuerier(203.0.113.1, 02:00:00:00:00:02) -> q;
FromDevice(eth0) -> e :: Classifier(12/0806, 12/0800 23/11, 12/0800 23/06 36/0050, 12/0800 30/cb007109, 0/ffffffffffff, -);
e[0], e[4] -> arp :: Discard;
e[1] -> Strip(14) -> CheckIPHeader -> i :: Classifier(9/11 22/0035, 12/0a00%ffff 16/c0000200%ffffff00, !12/0a000002, 8/?9, -);
e[2], e[3] -> Strip(14) -> CheckIPHeader -> arpq;
e[5] -> rest :: Discard;
i[0] -> dns :: Discard; i[1] -> test :: Discard; i[2] -> others :: Discard; i[3] -> nine :: Discard; i[4] -> arpq;
//< eth0 udp 10.0.0.2:1000 203.0.113.9:53
//! click/dns
//< eth0 udp 10.0.0.2:1000 192.0.2.77:54
//! click/test
//< eth0 udp 10.0.0.3:1000 203.0.113.9:54
//! click/others
//< eth0 udp 10.0.0.2:1000 203.0.113.9:54 ttl=25
//! click/nine
//< eth0 udp 10.0.0.2:1000 203.0.113.9:54 ttl=26
//> eth1 udp 10.0.0.2:1000 203.0.113.9:54 ttl=26
//< eth0 tcp 10.0.0.2:1000 203.0.113.8:80
//> eth1 tcp 10.0.0.2:1000 203.0.113.8:80
//< eth0 tcp 10.0.0.2:1000 203.0.113.9:81
//> eth1 tcp 10.0.0.2:1000 203.0.113.9:81
//< eth0 tcp 10.0.0.2:1000 203.0.113.8:81
//! click/rest
