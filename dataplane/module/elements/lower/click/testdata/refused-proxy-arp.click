AddressInfo(eth0 10.0.0.1/24, eth1 203.0.113.1/24);
FromDevice(eth0) -> c :: Classifier(12/0806 20/0001, -) -> ARPResponder(10.0.0.1 10.0.7.0/24 02:00:00:00:00:01) -> q :: Queue -> ToDevice(eth0);
c[1] -> q;
