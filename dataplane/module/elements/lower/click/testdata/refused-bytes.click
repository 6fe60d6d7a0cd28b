AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
FromDevice(eth0) -> c :: Classifier(12/080, 0/020000000001, 12/0800 16/0040, 12/0800 34/0050, x/00, 12/0800%ff, 12/08zz);
c[0],c[1],c[2],c[3],c[4],c[5],c[6] -> Discard;
Idle -> ToDevice(eth1);
