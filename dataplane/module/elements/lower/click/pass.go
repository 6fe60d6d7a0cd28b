package click

// Classes whose packets leave as they came: what they do is not seen from outside, or has no meaning here.
func init() {
	// No packet waits: nothing is stored, scheduled or spread over threads.
	register("1-/1-2", ignored, straight,
		"Queue", "SimpleQueue", "ThreadSafeQueue", "NotifierQueue", "FullNoteQueue", "QuickNoteQueue", "MSQueue", "MixedQueue", "FrontDropQueue", "DynamicQueue")
	register("1-/1", ignored, straight,
		"Unqueue", "BurstUnqueue", "Pipeliner", "CPUQueue", "RoundRobinSched", "StrideSched", "PrioSched", "SimplePrioSched", "DRRSched", "RoundRobinUnqueue")
	// They print, count what only they show, or note what nothing of ours reads. DropBroadcasts drops frames to groups, which an interface takes none of.
	register("1-/1", ignored, straight,
		"Null", "PushNull", "PullNull", "Print", "IPPrint", "TCPPrint", "UDPPrint", "SetTimestamp", "AdjustTimestamp", "MarkMACHeader", "Align", "IPRateMonitor",
		"DropBroadcasts", "EnsureDPDKBuffer", "Unbatch")
	// Options are carried along unchanged; those of source routes are dropped by the interface.
	register("1/1-2", ignored, straight, "IPGWOptions")
	register("-/-", ignored, func(x *visit, _ nothing) target { return x.lost("idle") }, "Idle")
	register("1-/0", ignored, func(x *visit, _ nothing) target { return x.drop(x.el.Name, x.el.Pos) }, "Discard", "DiscardNoFree")
	for _, name := range []string{
		"AddressInfo", "AlignmentInfo", "ScheduleInfo", "StaticThreadSched", "ThreadMonitor", "BalancedThreadSched", "PortInfo", "ClickyInfo", "ControlSocket",
		"ChatterSocket", "DriverManager", "Script", "Message", "IPRewriterPatterns", "ProgressBar", "TSCClock", "JiffieClock", "DPDKInfo", "HTTPServer", "ARPTable",
	} {
		classes[name] = &class{ignores: true, enter: func(x *visit, _ any) target {
			x.failOnce(x.element, false, "takes no packets, and an element is connected to it")
			return ""
		}}
	}
}
