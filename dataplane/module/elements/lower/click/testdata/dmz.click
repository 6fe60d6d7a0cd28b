// Three zones: a table, and a filter for each pair of zones that may talk.
define($in 10.0.0.1, $dmz 192.168.1.1, $out 203.0.113.1);
AddressInfo(inside 10.0.0.1/24, dmz 192.168.1.1/24, outside 203.0.113.1/24, DMZNET 192.168.1.0/24, INNET 10.0.0.0/24, WWW 192.168.1.80);
elementclass Zone { $dev, $ip, $color |
  FromDevice($dev, PROMISC false) -> c :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800);
  q :: Queue -> ToDevice($dev);
  c[0] -> ARPResponder($ip 02:00:00:00:00:0$color) -> q;
  c[1] -> [1]arpq :: ARPQuerier($ip, 02:00:00:00:00:0$color) -> q;
  c[2] -> Strip(14) -> CheckIPHeader -> Paint($color) -> output;
  input -> arpq;
}
i :: Zone(inside, $in, 1); d :: Zone(dmz, $dmz, 2); o :: Zone(outside, $out, 3);
i, d, o -> rt :: SortedIPLookup(INNET 0, DMZNET 1, 0/0 203.0.113.254 2);
rt[0] -> pi :: PaintSwitch; pi[0] -> Discard; pi[1] -> i; pi[2] -> IPFilter(allow tcp && ack) -> i; pi[3] -> out_in :: IPFilter(allow tcp && ack, allow udp && src port dns) -> i;
rt[1] -> to_dmz :: IPFilter(allow dst host WWW && dst tcp port www, deny all) -> d;
rt[2] -> po :: PaintSwitch; po[0] -> Discard; po[1] -> o; po[2] -> dmz_out :: IPFilter(allow src host WWW && src tcp port www && ack) -> o; po[3] -> Discard;
//< outside tcp 8.8.8.8:999 192.168.1.80:80
//> dmz tcp 8.8.8.8:999 192.168.1.80:80
//< outside tcp 8.8.8.8:999 192.168.1.80:22
//! click/to_dmz/unmatched
//< dmz tcp 192.168.1.80:80 8.8.8.8:999 flags=SA
//> outside tcp 192.168.1.80:80 8.8.8.8:999 flags=SA via=203.0.113.254
//< dmz tcp 192.168.1.80:80 8.8.8.8:999 flags=S
//! click/dmz_out/unmatched
//< inside udp 10.0.0.2:1 8.8.8.8:53
//> outside udp 10.0.0.2:1 8.8.8.8:53 via=203.0.113.254
//< outside udp 8.8.8.8:53 10.0.0.2:1
//> inside udp 8.8.8.8:53 10.0.0.2:1
//< outside udp 8.8.8.8:54 10.0.0.2:1
//! click/out_in/unmatched
