AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
FromDevice(eth0) -> MarkIPHeader(14) -> c :: IPClassifier(tcp prot 80, src prt 80, ip ect, ip id 5, host 10.0.0, tcp port 70000, echo,
   (tcp or udp), tcp opt syn == 1, icmp port 5, tcp udp, ether host 1:1:1:1:1:1, ip tos 3, net 10.0.0.0 mask 255.0.255.0, tcp win > 5, tcp and, host);
c => Null, Null, Null, Null, Null, Null, Null, Null, Null, Null, Null, Null, Null, Null, Null, Null -> ToDevice(eth1);
