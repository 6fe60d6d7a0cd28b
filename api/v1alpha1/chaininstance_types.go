package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ChainInstance is one data-plane pod of a chain. The pod has the same name. The spec is what the
// operator wants of the pod, the status what its agent reports.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ci,categories=sinter
// +kubebuilder:printcolumn:name="Chain",type=string,JSONPath=`.spec.chain`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Programmed",type=string,JSONPath=`.status.conditions[?(@.type=="Programmed")].status`
// +kubebuilder:printcolumn:name="Cores",type=integer,JSONPath=`.spec.cores`
// +kubebuilder:printcolumn:name="Load%",type=integer,JSONPath=`.status.loadPercent`
// +kubebuilder:printcolumn:name="Packets/s",type=integer,JSONPath=`.status.packetRate`
// +kubebuilder:printcolumn:name="Drops/s",type=integer,JSONPath=`.status.dropRate`
// +kubebuilder:printcolumn:name="Sessions",type=integer,JSONPath=`.status.sessions`
// +kubebuilder:printcolumn:name="Node",type=string,priority=1,JSONPath=`.status.node`
// +kubebuilder:printcolumn:name="Front",type=boolean,priority=1,JSONPath=`.spec.front`
// +kubebuilder:printcolumn:name="Program",type=string,priority=1,JSONPath=`.spec.program`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ChainInstance struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// Spec is what the operator wants.
	// +required
	Spec ChainInstanceSpec `json:"spec,omitempty,omitzero"`

	// Status is what the agent reports.
	// +optional
	Status ChainInstanceStatus `json:"status,omitempty,omitzero"`
}

// ChainInstanceSpec is what the operator wants of a data-plane pod.
type ChainInstanceSpec struct {
	// Chain that the instance belongs to.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=52
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="an instance stays with its chain"
	Chain string `json:"chain,omitempty"`

	// Program is the ChainProgram to run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Program string `json:"program,omitempty"`

	// Cores is the number of cores that the pod owns.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Cores int32 `json:"cores,omitempty"`

	// Groups of traffic classes and the cores that work on them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Groups []InstanceGroup `json:"groups,omitempty"`

	// Shared is true if the instance shares the chain's state with others. Its engine starts
	// without shards. Its agent takes them from peers, or creates them empty if no peer has them. A
	// change needs a new pod.
	// +optional
	Shared bool `json:"shared,omitempty"`

	// TableMemoryMiB is the memory in MiB that the agent needs to build the program's tables of routes.
	// A change needs a new pod.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65536
	TableMemoryMiB int32 `json:"tableMemoryMiB,omitempty"`

	// FlowMemoryMiB is the memory in MiB that the agent needs to gather records of flows for a
	// collector. A change needs a new pod.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65536
	FlowMemoryMiB int32 `json:"flowMemoryMiB,omitempty"`

	// Front is true for one of the instances that share the chain's state: its engine replies to
	// ARP requests for the chain's addresses and announces them, so all packets come to it. The
	// field has no effect if state is not shared: then each engine replies.
	// +optional
	Front bool `json:"front,omitempty"`

	// Peers are all other instances of the chain if they share its state. This instance gives each
	// peer the shards that the list assigns to it and forwards packets of their flows. It creates
	// the shards of its own groups that no peer has.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=63
	Peers []InstancePeer `json:"peers,omitempty"`

	// MetricsReaders may read the metrics of the pod without a token of the cluster: those who have
	// the key of a TLS client certificate with one of these pins. A pin is the SHA-256 of the
	// certificate's SubjectPublicKeyInfo, in base64 (RFC 7469, section 2.4).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9+/]{43}=$`
	MetricsReaders []string `json:"metricsReaders,omitempty"`

	// Interfaces binds each interface of the chain to a device.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Interfaces []InterfaceBinding `json:"interfaces,omitempty"`

	// Functions are containers of the pod beside its engine.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Functions []InstanceFunction `json:"functions,omitempty"`

	// Placement says where the pod may run.
	// +optional
	Placement Placement `json:"placement,omitempty,omitzero"`

	// Resources of the pod in addition to its cores.
	// +optional
	Resources Resources `json:"resources,omitempty,omitzero"`
}

// InstanceFunction is a blackbox that runs as a container of the pod.
type InstanceFunction struct {
	// Name of the container: that of the chain's function, or of a replica's wire inside.
	// +required
	Name Name `json:"name,omitempty"`

	// Inside and Outside are its wires, interfaces of the instance. The container's network devices have their names. A function that gets copies may have
	// one for both directions.
	// +required
	Inside Name `json:"inside,omitempty"`
	// +optional
	Outside Name `json:"outside,omitempty"`

	BlackboxContainer `json:",inline"`
}

// MemifFolder is where the pod has the sockets of functions that share memory with the engine.
const MemifFolder = "/run/memif"

// MemifSocket is the socket of an interface whose driver is Memif.
func MemifSocket(wire Name) string { return MemifFolder + "/" + string(wire) + ".sock" }

// Wires are the interfaces of the function.
func (f *InstanceFunction) Wires() []Name {
	if f.Outside == "" {
		return []Name{f.Inside}
	}
	return []Name{f.Inside, f.Outside}
}

// InstanceGroup is a group of traffic classes within an instance.
type InstanceGroup struct {
	// Name of the group.
	// +required
	Name Name `json:"name,omitempty"`

	// Shards of the group that the instance owns.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	Shards []ShardRange `json:"shards,omitempty"`

	// Cores that may work on the group, counted among the pod's own from 0.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=0
	// +kubebuilder:validation:items:Maximum=63
	Cores []int32 `json:"cores,omitempty"`
}

// WorkingCores is how many cores, the first ones, the instance's groups name.
func (i *ChainInstance) WorkingCores() int {
	most := int32(0)
	for _, g := range i.Spec.Groups {
		for _, c := range g.Cores {
			most = max(most, c+1)
		}
	}
	return int(most)
}

// InstancePeer is another instance of the same chain.
type InstancePeer struct {
	// Name of the ChainInstance.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Address at which its agent accepts shards ("10.244.1.7:9443"); absent while its pod has no
	// address.
	// +optional
	// +kubebuilder:validation:MaxLength=261
	Address string `json:"address,omitempty"`

	// Shards assigned to the peer.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Shards []ShardRange `json:"shards,omitempty"`

	// Interfaces through which packets can be sent to it.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Interfaces []InterfaceMAC `json:"interfaces,omitempty"`
}

// InterfaceMAC is the address of an instance's interface.
type InterfaceMAC struct {
	// Name of the chain's interface.
	// +required
	Name Name `json:"name,omitempty"`

	// MAC address.
	// +required
	MAC MACAddress `json:"mac,omitempty"`
}

// ShardRange is a shard or an unbroken run of shards ("0-127").
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=9
// +kubebuilder:validation:Pattern=`^[0-9]{1,4}(-[0-9]{1,4})?$`
type ShardRange string

// InterfaceBinding is the device of the pod that an interface of the chain is bound to.
type InterfaceBinding struct {
	// Name of the chain's interface.
	// +required
	Name Name `json:"name,omitempty"`

	// Driver by which the engine uses the device.
	// +required
	// +kubebuilder:validation:Enum=VFIO;AFXDP;AFPacket;Memif
	Driver Driver `json:"driver,omitempty"`

	// Device is the interface's name in the pod ("net1"), the device that the chain names, or with Memif the path of a socket. It is
	// absent if a device is allocated without a network.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Device string `json:"device,omitempty"`

	// Network is the NetworkAttachmentDefinition as "namespace/name", by which the
	// interface is found in the pod's network status.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	Network string `json:"network,omitempty"`

	// MTU is the size in bytes of the largest IP packet, where that is more than 1500.
	// +optional
	// +kubebuilder:validation:Minimum=1501
	// +kubebuilder:validation:Maximum=9216
	MTU int32 `json:"mtu,omitempty"`

	// ResourceName is the extended resource that grants the device.
	// +optional
	// +kubebuilder:validation:MaxLength=316
	ResourceName string `json:"resourceName,omitempty"`

	// ResourceClaimTemplateName is the template of the claim that grants the device; the
	// claim has the interface's name within the pod.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ResourceClaimTemplateName string `json:"resourceClaimTemplateName,omitempty"`
}

// ChainInstanceStatus is what the agent reports, and the operator's conditions Placed and Ready.
type ChainInstanceStatus struct {
	Status `json:",inline"`

	// Program is the ChainProgram in the instance's spec at the time of the report.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Program string `json:"program,omitempty"`

	// AppliedHash is the hash of the program that the engine runs.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AppliedHash string `json:"appliedHash,omitempty"`

	// Tables are the tables of routes of that program, which the agent built and the engine verified.
	// +optional
	// +listType=map
	// +listMapKey=hash
	// +kubebuilder:validation:MaxItems=64
	Tables []RouteTable `json:"tables,omitempty"`

	// EngineVersion is the engine's release.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	EngineVersion string `json:"engineVersion,omitempty"`

	// Node that the pod runs on.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`

	// LoadPercent is the load of the busiest core.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	LoadPercent int32 `json:"loadPercent"`

	// PacketRate is the number of packets received per second.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PacketRate int64 `json:"packetRate"`

	// DropRate is the number of packets dropped per second, for all reasons.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DropRate int64 `json:"dropRate"`

	// LossRate is the number of packets lost per second: dropped because the engine lacks something
	// (memory, space in a queue, a free port), not by a rule of the chain.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LossRate int64 `json:"lossRate"`

	// Sessions is the number of live sessions of all state tables.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Sessions int64 `json:"sessions"`

	// LostSessions counts the sessions that were lost when an engine died or a pod was replaced,
	// since the instance was created. It counts the sessions that the last report before the loss
	// had.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LostSessions int64 `json:"lostSessions,omitempty"`

	// Cores are the pod's working cores.
	// +optional
	// +listType=map
	// +listMapKey=lcore
	// +kubebuilder:validation:MaxItems=64
	Cores []CoreStatus `json:"cores,omitempty"`

	// Groups are the counters of groups.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Groups []GroupStatus `json:"groups,omitempty"`

	// Functions are the chain's blackboxes, as this instance sees them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Functions []FunctionStatus `json:"functions,omitempty"`

	// Drops are the packets dropped, by reason and kind.
	// +optional
	// +listType=map
	// +listMapKey=reason
	// +listMapKey=kind
	// +kubebuilder:validation:MaxItems=256
	Drops []DropCount `json:"drops,omitempty"`

	// Dispatch is how packets actually get to their cores, by interface.
	// +optional
	// +listType=map
	// +listMapKey=interface
	// +kubebuilder:validation:MaxItems=64
	Dispatch []InterfaceDispatch `json:"dispatch,omitempty"`

	// Shards that the engine has. Those that it is transferring to a peer are included.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Shards []ShardRange `json:"shards,omitempty"`

	// Interfaces are the addresses at which peers reach the engine.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Interfaces []InterfaceMAC `json:"interfaces,omitempty"`

	// LastReportTime is the time of the agent's last report.
	// +optional
	LastReportTime metav1.Time `json:"lastReportTime,omitempty,omitzero"`
}

// CoreStatus is the load of one core.
type CoreStatus struct {
	// LCore is the number of the CPU on its node.
	// +required
	// +kubebuilder:validation:Minimum=0
	LCore int32 `json:"lcore"`

	// LoadPercent is the part of its time that it spends on packets.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	LoadPercent int32 `json:"loadPercent"`

	// Packets that it processed since the engine started.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Packets int64 `json:"packets"`

	// Lost is the number of packets that the core was too busy for since the agent connected to the
	// engine: they found their receive queue full.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Lost int64 `json:"lost,omitempty"`

	// Other is the work that is not for the core's own shards, in thousandths of a core: packets
	// that it receives for other cores, and packets that need no state.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Other int32 `json:"other,omitempty"`

	// CyclesPerPacket is the number of cycles per packet in the last seconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CyclesPerPacket int32 `json:"cyclesPerPacket"`
}

// GroupStatus is the counters of a group.
type GroupStatus struct {
	// Name of the group.
	// +required
	Name Name `json:"name,omitempty"`

	// Packets of the group.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Packets int64 `json:"packets"`

	// Bytes of the group.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Bytes int64 `json:"bytes"`

	// Owners are the cores that own shards of the group. They are reported at most every 10
	// seconds.
	// +optional
	// +listType=map
	// +listMapKey=lcore
	// +kubebuilder:validation:MaxItems=64
	Owners []CoreShards `json:"owners,omitempty"`

	// Work is the load of each shard, in thousandths of a core. The index is the shard's number.
	// Shards behind the last entry have no load. Absent if one core always has all shards.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:Minimum=0
	// +kubebuilder:validation:items:Maximum=64000
	Work []int32 `json:"work,omitempty"`
}

// CoreShards is a core and the shards of a group that it owns.
type CoreShards struct {
	// LCore is the number of the CPU on its node.
	// +required
	// +kubebuilder:validation:Minimum=0
	LCore int32 `json:"lcore"`

	// Shards that the core owns.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Shards []ShardRange `json:"shards,omitempty"`

	// LoadPercent is the part of its time that the core spends on packets.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	LoadPercent int32 `json:"loadPercent"`
}

// RouteTable is a table of routes in an engine.
type RouteTable struct {
	// Hash of the table's content, as the program names it.
	// +required
	// +kubebuilder:validation:MinLength=64
	// +kubebuilder:validation:MaxLength=64
	Hash string `json:"hash,omitempty"`

	// Routes is the number of prefixes that the table was built from.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Routes int64 `json:"routes"`
}

// DropKind says who decides to drop packets for a reason.
// +kubebuilder:validation:Enum=Decision;Refusal;Loss;Consumed
type DropKind string

// The kinds of drop reasons.
const (
	// DropDecision is a function's decision: a rule of the chain drops the packet.
	DropDecision DropKind = "Decision"
	// DropRefusal is the engine's decision in every chain: the packet is malformed, has a martian
	// address, or is for another host.
	DropRefusal DropKind = "Refusal"
	// DropLoss is a packet that the chain would have passed, but the engine lacks memory, space in
	// a queue, or the neighbour's address.
	DropLoss DropKind = "Loss"
	// DropConsumed is a packet that the engine itself processed (ARP). It is no loss.
	DropConsumed DropKind = "Consumed"
)

// DropCount is the packets dropped for a reason.
type DropCount struct {
	// Reason ("nat-exhausted"; for a function of the chain: "fw/drop").
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=191
	Reason string `json:"reason,omitempty"`

	// Kind says who dropped them: a function of the chain (Decision), the engine in every chain
	// (Refusal), or the engine for lack of something (Loss). The engine itself processed Consumed
	// packets.
	// +required
	Kind DropKind `json:"kind,omitempty"`

	// Packets dropped since the engine started.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Packets int64 `json:"packets"`
}

// Dispatcher brings packets to cores.
// +kubebuilder:validation:Enum=Flow;RSS;Software
type Dispatcher string

// Dispatchers.
const (
	// DispatcherFlow is flow rules of the network card.
	DispatcherFlow Dispatcher = "Flow"
	// DispatcherRSS is the network card's hash over the addresses and ports.
	DispatcherRSS Dispatcher = "RSS"
	// DispatcherSoftware is the engine itself.
	DispatcherSoftware Dispatcher = "Software"
)

// InterfaceDispatch is how the packets of an interface get to their cores.
type InterfaceDispatch struct {
	// Interface of the chain.
	// +required
	Interface Name `json:"interface,omitempty"`

	// Dispatcher in force.
	// +required
	Dispatcher Dispatcher `json:"dispatcher,omitempty"`

	// Reason why no better dispatcher is in use.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`
}

// ChainInstanceList is a list of instances.
//
// +kubebuilder:object:root=true
type ChainInstanceList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// +required
	Items []ChainInstance `json:"items"`
}
