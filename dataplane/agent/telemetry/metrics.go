package telemetry

import (
	"context"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/agent/loop"
	"github.com/sinter-nfv/sinter/dataplane/agent/offload"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/health"
	"github.com/sinter-nfv/sinter/dataplane/ipfix"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// The metrics of an engine. docs/agent.md is their reference.
var (
	engineUp        = metric("engine_up", "Whether the engine answers.")
	programInfo     = metric("program_info", "1; the labels say what runs.", "chain", "hash")
	programApplied  = metric("program_applied", "Whether the wanted program runs.")
	programsLoaded  = metric("programs_loaded_total", "Programs loaded by this agent.")
	programsRefused = metric("programs_refused_total", "Programs that the engine refused or died of.")
	programBuild    = metric("program_build_seconds", "Time that the tables of the last program took to build.")
	programSwap     = metric("program_swap_seconds", "Time until every core ran the last program.")
	programWalk     = metric("program_walk_steps", "Nodes and groups of boxes that a look-up reads on average, in the trees of the last program.", "segment", "packets")
	programLongest  = metric("program_longest_walk_steps", "Nodes and groups of boxes that a look-up reads at most, whatever the packet.", "segment", "packets")

	portRxPackets = metric("interface_received_packets_total", "Packets received.", "interface")
	portRxBytes   = metric("interface_received_bytes_total", "Bytes received.", "interface")
	portTxPackets = metric("interface_sent_packets_total", "Packets sent.", "interface")
	portTxBytes   = metric("interface_sent_bytes_total", "Bytes sent.", "interface")
	portMissed    = metric("interface_missed_packets_total", "Packets that the device dropped because the engine did not poll in time.", "interface")

	portRules     = metric("interface_flow_rules", "Flow rules that the device has.", "interface")
	rulesRefused  = metric("interface_flow_rules_refused_total", "Flow rules that the device's driver refused.", "interface")
	rulesTakenOut = metric("interface_flow_rules_withdrawn_total", "Flow rules that were removed from the device.", "interface")
	deviceDropped = metric("interface_device_dropped_packets_total", "Packets that the device dropped by flow rules, as the chain would have; they are among those received.", "interface")
	portMarked    = metric("interface_marked_packets_total", "Packets whose class was taken from the device's mark.", "interface")
	portStrays    = metric("interface_stray_packets_total", "Packets that the device gave to another core than their shard's.", "interface")
	contradicting = metric("interface_contradicting_packets_total", "Packets that contradict the device's flow rules.", "interface")

	classPackets   = metric("class_packets_total", "Packets of a traffic class.", "program", "segment", "class", "outcome")
	classBytes     = metric("class_bytes_total", "Bytes of a traffic class.", "program", "segment", "class", "outcome")
	groupPackets   = metric("group_packets_total", "Packets of a group of traffic classes.", "group")
	groupBytes     = metric("group_bytes_total", "Bytes of a group of traffic classes.", "group")
	counterPackets = metric("counter_packets_total", "Packets that passed a counter of the chain.", "counter")
	counterBytes   = metric("counter_bytes_total", "Bytes that passed a counter of the chain.", "counter")
	dropPackets    = metric("dropped_packets_total", "Packets dropped.", "reason", "kind")
	dropBytes      = metric("dropped_bytes_total", "Bytes dropped.", "reason", "kind")

	sessions          = metric("sessions", "Live sessions of a state table.", "table")
	sessionsCreated   = metric("sessions_created_total", "Sessions made.", "table")
	sessionsExpired   = metric("sessions_expired_total", "Sessions that were idle for too long.", "table")
	sessionsExhausted = metric("sessions_exhausted_total", "Sessions that could not be created, because no port or entry was free.", "table")
	sessionsEvicted   = metric("sessions_evicted_total", "TCP openings that ended for another one: for want of a port or of room, or because too many were half open.", "table")

	backendUp = metric("backend_up", "Whether a load balancer's backend is up, as the agent's checks tell.", "table", "backend")

	blackboxUp      = metric("blackbox_up", "Whether a blackbox answers probes that leave by one of its wires and come back by the other.", "out", "back")
	blackboxProbes  = metric("blackbox_probes_total", "Probes sent through a blackbox.", "out", "back")
	blackboxAnswers = metric("blackbox_answers_total", "Probes that came back.", "out", "back")
	blackboxHostUp  = metric("blackbox_host_up", "Whether a blackbox that is a host in the network of an interface answers ARP.", "interface", "address")
	blackboxChecked = metric("blackbox_checked_packets_total", "Packets that left for a blackbox to be compared with what comes back.", "out", "back")
	blackboxLost    = metric("blackbox_lost_packets_total", "Checked packets that did not come back within five seconds.", "out", "back")
	blackboxChanges = metric("blackbox_contradicting_packets_total", "Checked packets with which a blackbox did what it does not declare, and packets that it made against its declaration.", "out", "back", "kind")
	blackboxLatency = metric("blackbox_latency_seconds", "Time that checked packets which came back took through a blackbox.", "out", "back")

	subscribers        = metric("nat_subscribers", "Inside hosts or prefixes that have sessions of a NAPT with limits.", "nat")
	subscriberSessions = metric("nat_subscriber_sessions", "Sessions of the ten subscribers that have most.", "nat", "subscriber")
	subscriberPorts    = metric("nat_subscriber_ports", "Outside ports of the ten subscribers that have most sessions.", "nat", "subscriber", "protocol")
	subscriberRefused  = metric("nat_subscriber_refused_packets", "Packets of such a subscriber dropped for a limit, since it has had sessions without a break.", "nat", "subscriber")

	limitedHosts       = metric("connection_limiter_hosts", "Hosts or prefixes that have connections counted by a connection limiter.", "function")
	limitedConnections = metric("connection_limiter_host_connections", "Connections of the ten hosts that have most.", "function", "host")
	limitedRefused     = metric("connection_limiter_host_refused_packets", "Packets of such a host dropped for its limit, since it has had connections without a break.", "function", "host")

	meterPackets = metric("meter_packets_total", "Packets measured by a meter of a rate limiter.", "table", "color")
	meterBytes   = metric("meter_bytes_total", "Bytes of IP packets measured by a meter of a rate limiter.", "table", "color")

	inspectPackets = metric("inspect_packets_total", "Packets whose payload was matched with rules.", "table")
	inspectBytes   = metric("inspect_bytes_total", "Bytes of payloads that were matched with rules.", "table")
	inspectMatched = metric("inspect_matched_packets_total", "Packets that a rule matched.", "table", "rule")
	monitorPackets = metric("monitor_packets_total", "Packets that came to a monitor that lists or exports flows.", "monitor")
	monitorBytes   = metric("monitor_bytes_total", "Bytes of IP packets that came to a monitor that lists or exports flows.", "monitor")
	flowRecords    = metric("flow_records_total", "Records of flows that were exported, and that were lost.", "result")
	flowsLost      = metric("flow_records_lost_packets_total", "Packets that lost records of flows had.")

	corePackets   = metric("core_packets_total", "Packets processed.", "core")
	coreCycles    = metric("core_cycles_total", "Cycles spent.", "core", "state")
	coreStages    = metric("core_stage_cycles_total", "Cycles spent on packets, by stage.", "core", "stage")
	coreCache     = metric("core_cache_lookups_total", "Look-ups in the decision cache.", "core", "result")
	corePerPacket = metric("core_cycles_per_packet", "Cycles that a packet took in the last seconds.", "core")
	coreLoad      = metric("core_load_ratio", "Part of its time that the core worked on packets in the last seconds.", "core")
	coreBursts    = metric("core_burst_duration_seconds", "Time that a burst took from receive to send.", "core")
	coreQuantiles = metric("core_burst_quantile_seconds", "Time that a burst took in the last seconds, by quantile.", "core", "quantile")

	coreShards    = metric("core_shards", "Shards of the chain's state that the core owns.", "core")
	coreHandovers = metric("core_handovers_total", "Packets handed over to the core that owns their shard (given), and received from another core (taken).", "core", "direction")
	shardMoves    = metric("shard_moves_total", "Shards moved between cores, and orders to move some that failed.", "result")
	shardsGiven   = metric("shards_given_total", "Shards given to the chain's other pods, and attempts to bring shards to their pods that failed.", "result")
	shardsHeavy   = metric("shards_too_heavy", "Shards that need more than one core can give.")

	statusWrites = metric("agent_status_writes_total", "Writes of the ChainInstance's status.", "result")
)

func metric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("sinter_"+name, help, labels, nil)
}

// stages are the parts of a burst's work, in the engine's order.
var stages = []string{"receive", "parse", "look-up", "classify", "rewrite", "send"}

var burstQuantiles = []float64{0.5, 0.9, 0.99, 0.999}

// maxClasses bounds the classes that have series of their own; a program may have thousands.
const maxClasses = 500

// Collector gives Prometheus the agent's and the engine's metrics.
type Collector struct {
	Read    func(context.Context) error // reads the engine again
	See     func() *Seen
	Writes  *loop.Counts         // of the status
	Moves   *loop.Counts         // of shards between cores
	Blocked prometheus.Collector // what moves cost
	Given   *loop.Counts         // of shards to other pods; nil: the pod shares its state with none
	// Backends are those that are checked.
	Backends func() []health.Condition
	// Flows are records exported, and lost on the way.
	Flows func() ipfix.Counts
}

// Describe says nothing: which metrics there are depends on the program.
func (c *Collector) Describe(chan<- *prometheus.Desc) {}

// Collect reads all metrics.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	err := c.Read(context.Background())
	s := c.See()
	e := exposition{out}
	e.gauge(engineUp, number(err == nil || errors.Is(err, control.ErrNotAsked)))
	e.attempts(statusWrites, c.Writes)
	e.counter(programsLoaded, s.State.Loads)
	e.counter(programsRefused, s.State.Refusals)
	e.gauge(programApplied, number(s.applied()))
	if loaded := s.State.Loaded; loaded != nil {
		e.gauge(programBuild, float64(loaded.GetBuildNs())/1e9)
		e.gauge(programSwap, float64(loaded.GetSwapNs())/1e9)
		if p := s.State.Program; p != nil && p.Hash == hex.EncodeToString(loaded.GetHash()) {
			e.walks(p, loaded.GetWalks())
		}
	}
	e.attempts(shardMoves, c.Moves)
	c.Blocked.Collect(out)
	if c.Given != nil {
		e.attempts(shardsGiven, c.Given)
	}
	for _, b := range c.Backends() {
		e.gauge(backendUp, number(b.Up), b.Table, b.Name())
	}
	if err != nil || s.Now == nil {
		return
	}
	e.ports(s.Now.Stats)
	e.rules(&s.Dispatch)
	e.classes(s)
	e.drops(s.Now.Stats)
	e.tables(s.Now.Stats)
	if o := s.Now.Stats.GetObservation(); o != nil {
		e.observation(o, c.Flows())
	}
	e.wires(s.Now.Stats)
	e.subscribers(s.Now.Stats)
	e.cores(s)
	e.gauge(shardsHeavy, float64(s.Balance.Heavy.Len()))
	for _, g := range s.groups(nil) {
		e.counter(groupPackets, uint64(g.Packets), string(g.Name))
		e.counter(groupBytes, uint64(g.Bytes), string(g.Name))
	}
}

type exposition struct{ out chan<- prometheus.Metric }

func (e exposition) counter(d *prometheus.Desc, value uint64, labels ...string) {
	e.out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
}

func (e exposition) gauge(d *prometheus.Desc, value float64, labels ...string) {
	e.out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func (e exposition) attempts(d *prometheus.Desc, n *loop.Counts) {
	e.counter(d, n.Done.Load(), "done")
	e.counter(d, n.Failed.Load(), "failed")
}

func (e exposition) ports(s *controlpb.Stats) {
	for _, p := range s.GetPorts() {
		e.counter(portRxPackets, p.GetRxPackets(), p.GetInterface())
		e.counter(portRxBytes, p.GetRxBytes(), p.GetInterface())
		e.counter(portTxPackets, p.GetTxPackets(), p.GetInterface())
		e.counter(portTxBytes, p.GetTxBytes(), p.GetInterface())
		e.counter(portMissed, p.GetRxMissed(), p.GetInterface())
		e.counter(portMarked, p.GetMarked(), p.GetInterface())
		e.counter(portStrays, p.GetStrays(), p.GetInterface())
		e.counter(contradicting, offload.Contradictions(p), p.GetInterface())
	}
}

func (e exposition) wires(s *controlpb.Stats) {
	for _, h := range s.GetHosts() {
		e.gauge(blackboxHostUp, number(!h.GetDown()), h.GetInterface(), rule.Address(h.GetAddress()).String())
	}
	for _, w := range s.GetWires() {
		if w.GetWatched() {
			e.gauge(blackboxUp, number(!w.GetDown()), w.GetOut(), w.GetBack())
			e.counter(blackboxProbes, w.GetProbes(), w.GetOut(), w.GetBack())
			e.counter(blackboxAnswers, w.GetAnswers(), w.GetOut(), w.GetBack())
		}
		e.counter(blackboxChecked, w.GetChecked(), w.GetOut(), w.GetBack())
		e.counter(blackboxLost, w.GetLost(), w.GetOut(), w.GetBack())
		for _, c := range w.GetContradictions() {
			e.counter(blackboxChanges, c.GetPackets(), w.GetOut(), w.GetBack(), c.GetWhat())
		}
		count, sum, buckets := passage(w)
		e.out <- prometheus.MustNewConstHistogram(blackboxLatency, count, sum, buckets, w.GetOut(), w.GetBack())
	}
}

func (e exposition) walks(p *delivery.Program, walks []*controlpb.Walk) {
	for _, w := range walks {
		segment, packets := p.GetSegments()[w.GetSegment()].GetName(), "most"
		if w.GetLow() {
			packets = "apart"
		}
		e.gauge(programWalk, float64(w.GetSteps()), segment, packets)
		e.gauge(programLongest, float64(w.GetLongest()), segment, packets)
	}
}

func (e exposition) rules(s *offload.State) {
	for i := range s.Ports {
		p := &s.Ports[i]
		e.gauge(portRules, float64(p.Rules), p.Interface)
		e.counter(rulesRefused, p.Refused, p.Interface)
		e.counter(rulesTakenOut, p.Withdrawn, p.Interface)
		e.counter(deviceDropped, p.Dropped.Packets, p.Interface)
	}
}

// classes are those of the program in force, if it is known. Beyond maxClasses the program's last ones are summed:
// which these are does not depend on the traffic, so that the sum only grows.
func (e exposition) classes(s *Seen) {
	hash := s.Now.Hash()
	p := s.State.Program
	if hash == "" || p == nil || p.Hash != hash {
		return
	}
	e.gauge(programInfo, 1, p.GetChain(), hash)
	short := hash[:min(10, len(hash))]
	first := make([]uint32, len(p.GetSegments())) // class of each segment
	var n uint32
	for i, segment := range p.GetSegments() {
		first[i] = n
		n += uint32(len(segment.GetClasses()))
	}
	var restPackets, restBytes uint64
	for _, c := range s.Now.Stats.GetClasses() {
		if int(c.GetSegment()) >= len(first) {
			continue
		}
		if first[c.GetSegment()]+c.GetClass() >= maxClasses {
			restPackets += c.GetPackets()
			restBytes += c.GetBytes()
			continue
		}
		segment := p.GetSegments()[c.GetSegment()]
		labels := []string{short, segment.GetName(), strconv.Itoa(int(c.GetClass())), outcome(p, segment, c.GetClass())}
		e.counter(classPackets, c.GetPackets(), labels...)
		e.counter(classBytes, c.GetBytes(), labels...)
	}
	if n > maxClasses {
		e.counter(classPackets, restPackets, short, "", "rest", "")
		e.counter(classBytes, restBytes, short, "", "rest", "")
	}
	for i, c := range s.Now.Stats.GetCounters() {
		if i < len(p.GetCounters()) {
			e.counter(counterPackets, c.GetPackets(), p.GetCounters()[i])
			e.counter(counterBytes, c.GetBytes(), p.GetCounters()[i])
		}
	}
}

// outcome says in a word or two what becomes of a class' packets.
func outcome(p *delivery.Program, segment *programpb.Segment, class uint32) string {
	if int(class) >= len(segment.GetClasses()) {
		return ""
	}
	legs := segment.GetClasses()[class].GetLegs()
	if len(legs) != 1 {
		return "copies"
	}
	name := func(kind string, i uint32, names []string) string {
		if int(i) < len(names) {
			return kind + " " + names[i]
		}
		return kind
	}
	switch o := legs[0].GetOutcome().(type) {
	case *programpb.Leg_Output:
		if int(o.Output) < len(p.GetInterfaces()) {
			return "to " + p.GetInterfaces()[o.Output].GetName()
		}
		return "to"
	case *programpb.Leg_Drop:
		if chain, ok := o.Drop.GetReason().(*programpb.Drop_Chain); ok {
			return name("drop", chain.Chain, p.GetReasons())
		}
		return "drop"
	case *programpb.Leg_Generator:
		return "answered"
	case *programpb.Leg_Segment:
		return "classified again"
	case *programpb.Leg_StateReturn:
		return "return"
	case *programpb.Leg_Track:
		return "tracked"
	case *programpb.Leg_Stop:
		if int(o.Stop.GetOut()) < len(p.GetInterfaces()) {
			return "to " + p.GetInterfaces()[o.Stop.GetOut()].GetName()
		}
		return "to"
	case *programpb.Leg_Tap:
		return "copied"
	case *programpb.Leg_Bypass:
		return "past or through"
	default:
		return ""
	}
}

func (e exposition) drops(s *controlpb.Stats) {
	for _, d := range s.GetDrops() {
		kind := strings.ToLower(string(kinds[d.GetKind()]))
		e.counter(dropPackets, d.GetPackets(), d.GetReason(), kind)
		e.counter(dropBytes, d.GetBytes(), d.GetReason(), kind)
	}
}

func (e exposition) tables(s *controlpb.Stats) {
	for _, t := range s.GetTables() {
		e.gauge(sessions, float64(t.GetSessions()), t.GetName())
		e.counter(sessionsCreated, t.GetCreated(), t.GetName())
		e.counter(sessionsExpired, t.GetExpired(), t.GetName())
		e.counter(sessionsExhausted, t.GetExhausted(), t.GetName())
		e.counter(sessionsEvicted, t.GetEvicted(), t.GetName())
		if t.GetMeter() != nil {
			e.colors(t)
		}
		if i := t.GetInspector(); i != nil {
			e.counter(inspectPackets, i.GetPackets(), t.GetName())
			e.counter(inspectBytes, i.GetBytes(), t.GetName())
			for _, r := range i.GetRules() {
				e.counter(inspectMatched, r.GetPackets(), t.GetName(), r.GetName())
			}
		}
	}
}

// observation is what a monitor saw. Records are lost in the engine, or between agent and collector.
func (e exposition) observation(o *programpb.ObservationStats, exported ipfix.Counts) {
	e.counter(monitorPackets, o.GetPackets(), o.GetName())
	e.counter(monitorBytes, o.GetBytes(), o.GetName())
	e.counter(flowRecords, exported.Records, "sent")
	e.counter(flowRecords, exported.Lost+o.GetLostRecords(), "lost")
	e.counter(flowsLost, exported.LostPackets+o.GetLostPackets())
}

func (e exposition) subscribers(s *controlpb.Stats) {
	for _, n := range s.GetSubscribers() {
		if n.GetConnections() {
			e.hosts(n)
			continue
		}
		e.gauge(subscribers, float64(n.GetSubscribers()), n.GetName())
		for _, h := range n.GetHeaviest() {
			name := program.SubscriberName(h)
			e.gauge(subscriberSessions, float64(h.GetSessions()), n.GetName(), name)
			for protocol, ports := range map[string]uint32{"tcp": h.GetTcpPorts(), "udp": h.GetUdpPorts(), "icmp": h.GetIcmpPorts()} {
				e.gauge(subscriberPorts, float64(ports), n.GetName(), name, protocol)
			}
			e.gauge(subscriberRefused, float64(h.GetRefused()), n.GetName(), name)
		}
	}
}

// hosts are those of a connection limiter.
func (e exposition) hosts(n *programpb.SubscriberStats) {
	e.gauge(limitedHosts, float64(n.GetSubscribers()), n.GetName())
	for _, h := range n.GetHeaviest() {
		name := program.SubscriberName(h)
		e.gauge(limitedConnections, float64(h.GetSessions()), n.GetName(), name)
		e.gauge(limitedRefused, float64(h.GetRefused()), n.GetName(), name)
	}
}

func (e exposition) colors(t *programpb.TableStats) {
	m := t.GetMeter()
	for color, c := range map[string]*programpb.MeterCount{"green": m.GetGreen(), "yellow": m.GetYellow(), "red": m.GetRed()} {
		e.counter(meterPackets, c.GetPackets(), t.GetName(), color)
		e.counter(meterBytes, c.GetBytes(), t.GetName(), color)
	}
}

func (e exposition) cores(s *Seen) {
	r, shards := ratesOf(s.Before, s.Now), engine.Owned(s.Now.Stats)
	for i, w := range s.Now.Stats.GetWorkers() {
		core := strconv.Itoa(s.Binding.CPU(i, w.GetLcore()))
		e.counter(corePackets, w.GetPackets(), core)
		e.counter(coreCycles, w.GetBusyCycles(), core, "busy")
		e.counter(coreCycles, w.GetIdleCycles(), core, "idle")
		for k, cycles := range w.GetStageCycles() {
			if k < len(stages) {
				e.counter(coreStages, cycles, core, stages[k])
			}
		}
		e.gauge(coreShards, float64(shards[i].Len()), core)
		e.counter(coreHandovers, w.GetHanded(), core, "given")
		e.counter(coreHandovers, w.GetTaken(), core, "taken")
		e.counter(coreCache, w.GetCacheHits(), core, "hit")
		e.counter(coreCache, w.GetCacheMisses(), core, "miss")
		e.gauge(coreLoad, r.cores[i].Load, core)
		e.gauge(corePerPacket, r.cores[i].CyclesPerPacket, core)
		count, sum, buckets := bursts(w)
		e.out <- prometheus.MustNewConstHistogram(coreBursts, count, sum, buckets, core)
		if s.Before != nil {
			for _, q := range burstQuantiles {
				e.gauge(coreQuantiles, quantile(q, s.Before.Stats.GetWorkers()[i], w), core, strconv.FormatFloat(q, 'g', -1, 64))
			}
		}
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
