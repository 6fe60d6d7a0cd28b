package bench

import (
	"encoding/json"
	"testing"
)

const written = `{"burst":32,"full_bursts":20000,"tsc_hz":2600000000,"unique_flows":true,"programs":1,` +
	`"cycles_per_packet":{"p10":87.75,"median":92.62,"p90":98.31,"mean":93.81},"timer_cycles_per_packet":0.25,"instructions_per_packet":null,` +
	`"stages":{"receive":26.81,"parse":8.94},"packets":960000,"sent":959999,"drops":[{"program":0,"reason":"tx-full","packets":1}],` +
	`"sessions":{"live":1,"created":3,"expired":2,"exhausted":4},"cache":{"hits":959968,"misses":32},` +
	`"classifiers":[{"program":0,"segment":"from inside","kind":"linear","bytes":848,"steps":2.5,"longest":3}]}` + "\n"

// The JSON is an interface: a change breaks the scripts of users.
const printed = `{"burst":32,"fullBursts":20000,"tscHz":2600000000,"uniqueFlows":true,` +
	`"cyclesPerPacket":{"p10":87.75,"median":92.62,"p90":98.31,"mean":93.81},"timerCyclesPerPacket":0.25,` +
	`"stages":{"parse":8.94,"receive":26.81},"packets":960000,"sent":959999,"drops":[{"reason":"tx-full","packets":1}],` +
	`"sessions":{"live":1,"created":3,"expired":2,"exhausted":4},"cache":{"hits":959968,"misses":32},` +
	`"classifiers":[{"segment":"from inside","kind":"linear","bytes":848,"steps":2.5,"longest":3}]}`

func TestAMeasurementHasTheNamesOfOtherCommands(t *testing.T) {
	r, err := parse([]byte(written))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(r); err != nil || string(got) != printed {
		t.Errorf("it is printed as\n%s, %v, want\n%s", got, err, printed)
	}
	for _, wrong := range []string{"", "{}", `{"packets":"many"}`} {
		if _, err := parse([]byte(wrong)); err == nil {
			t.Errorf("%q is a measurement", wrong)
		}
	}
}
