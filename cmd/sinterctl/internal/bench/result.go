package bench

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Result is a measurement. Scripts read it, so names stay.
type Result struct {
	Burst           int    `json:"burst"`
	FullBursts      int    `json:"fullBursts"`
	TSCHz           uint64 `json:"tscHz"`
	UniqueFlows     bool   `json:"uniqueFlows"`
	CyclesPerPacket struct {
		P10    float64 `json:"p10"`
		Median float64 `json:"median"`
		P90    float64 `json:"p90"`
		Mean   float64 `json:"mean"`
	} `json:"cyclesPerPacket"`
	TimerCyclesPerPacket float64            `json:"timerCyclesPerPacket"`
	Stages               map[string]float64 `json:"stages"`
	Packets              uint64             `json:"packets"`
	Sent                 uint64             `json:"sent"`
	Drops                []Drop             `json:"drops"`
	Sessions             struct {
		Live      uint64 `json:"live"`
		Created   uint64 `json:"created"`
		Expired   uint64 `json:"expired"`
		Exhausted uint64 `json:"exhausted"`
	} `json:"sessions"`
	Cache struct {
		Hits   uint64 `json:"hits"`
		Misses uint64 `json:"misses"`
	} `json:"cache"`
	Classifiers []Classifier `json:"classifiers"`
}

// Drop is how many packets were dropped for a reason.
type Drop struct {
	Reason  string `json:"reason"`
	Packets uint64 `json:"packets"`
}

// Classifier is the table of a segment.
type Classifier struct {
	Segment string  `json:"segment"`
	Kind    string  `json:"kind"`
	Bytes   uint64  `json:"bytes"`
	Steps   float64 `json:"steps"`
	Longest int     `json:"longest"`
}

// parse reads a measurement as sinter-bench writes it, whose names are others where they have several words.
func parse(written []byte) (*Result, error) {
	var r Result
	names := struct {
		*Result
		FullBursts           *int     `json:"full_bursts"`
		TSCHz                *uint64  `json:"tsc_hz"`
		UniqueFlows          *bool    `json:"unique_flows"`
		CyclesPerPacket      any      `json:"cycles_per_packet"`
		TimerCyclesPerPacket *float64 `json:"timer_cycles_per_packet"`
	}{&r, &r.FullBursts, &r.TSCHz, &r.UniqueFlows, &r.CyclesPerPacket, &r.TimerCyclesPerPacket}
	if err := json.Unmarshal(written, &names); err != nil {
		return nil, fmt.Errorf("sinter-bench wrote no measurement: %w", err)
	}
	if r.Packets == 0 {
		return nil, errors.New("sinter-bench measured no packet")
	}
	return &r, nil
}
