package main

import (
	"testing"
	"time"
)

func TestTheDeviceIsToldACaptureForEachQueueAndWhatQuietIs(t *testing.T) {
	r := replay{capture: "a.pcap", warmup: 1, measured: 2, rate: 3, quiet: 4, patience: 5 * time.Second}
	if got, want := r.device("r.json"), "net_replay0,warmup=1,count=2,report=r.json,pcap=a.pcap,rate=3,quiet=4,patience=5000"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	q := quiet{probe: 100}
	if got, want := q.beside(replay{}).arguments("r.json", "0.pcap", "1.pcap"), "warmup=0,count=0,report=r.json,pcap=0.pcap,pcap=1.pcap,quiet=105,patience=0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
