package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Blackbox is a function that someone else made, such as an intrusion prevention system or a traffic shaper. It forwards frames between two
// interfaces of the chain as a bridge does: MAC addresses stay as they are. All functions before it are one look-up, and so are all functions behind it.
// Or it gets copies of packets, as an intrusion detection system or a packet recorder does (attachment: Tap), or it is a router (attachment: Routed),
// or a host to which packets are sent, as a proxy is (attachment: Service).
// With an image, Sinter runs it; without, someone else does.
// +kubebuilder:validation:XValidation:rule="!has(self.whenDown) || self.whenDown != 'Open' || !has(self.behavior) || !has(self.behavior.writes) || size(self.behavior.writes) == 0",message="whenDown: Open needs a function that writes nothing, as what it writes would be missing: set Closed, or leave behavior.writes out"
// +kubebuilder:validation:XValidation:rule="!has(self.bypass) || !has(self.behavior) || !has(self.behavior.writes) || size(self.behavior.writes) == 0",message="bypass needs a function that writes nothing, as what it writes would be missing in packets that go past it: leave bypass out, or behavior.writes"
// +kubebuilder:validation:XValidation:rule="!has(self.image) || has(self.whenDown) || self.attachment == 'Tap'",message="image needs whenDown: say what becomes of packets while the container is down, Open or Closed"
// +kubebuilder:validation:XValidation:rule="has(self.inside) || has(self.replicas)",message="inside is required: the interface (wire: true) of the function's side towards port inside; only a function with replicas has none"
// +kubebuilder:validation:XValidation:rule="has(self.outside) || has(self.replicas) || self.attachment == 'Tap' || self.attachment == 'Service'",message="outside is required: the interface (wire: true) of the function's other side; only a Tap may have one interface for both directions"
// +kubebuilder:validation:XValidation:rule="self.attachment != 'Tap' || !has(self.whenDown) && !has(self.behavior) && !has(self.bypass)",message="whenDown, behavior and bypass are not for attachment: Tap, which gets copies: packets of the chain do not depend on it"
// +kubebuilder:validation:XValidation:rule="self.attachment != 'Routed' || !has(self.whenDown) && !has(self.behavior) && !has(self.bypass) && !has(self.image)",message="whenDown, behavior, bypass and image are not for attachment: Routed, a hop with addresses of its own that someone else runs: its packets are new ones to the chain"
// +kubebuilder:validation:XValidation:rule="self.attachment != 'Service' || !has(self.outside) && !has(self.whenDown) && !has(self.behavior) && !has(self.bypass) && !has(self.image)",message="outside, whenDown, behavior, bypass and image are not for attachment: Service, a host with addresses of its own in the network of the interface inside, that someone else runs"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.attachment == 'Wire'",message="replicas are for attachment: Wire, a function that packets go through"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.inside) && !has(self.outside)",message="inside and outside are not for a function with replicas: name each one's wires in replicas"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || has(self.whenDown)",message="replicas needs whenDown: only of functions that are watched is it known which are there; say what becomes of packets while none is, Open or Closed"
// +kubebuilder:validation:XValidation:rule="has(self.replicas) || !has(self.affinity)",message="affinity needs replicas, to which flows belong"
// +kubebuilder:validation:XValidation:rule="has(self.image) || !has(self.scaling)",message="scaling needs image: one that someone else runs does not become more with the chain's instances"
// +kubebuilder:validation:XValidation:rule="self.attachment == 'Service' || !has(self.address)",message="address is for attachment: Service, a host in the network of the interface inside; a Routed one is the gateway of its interfaces, and others have none"
// +kubebuilder:validation:XValidation:rule="has(self.image) || !has(self.command) && !has(self.args) && !has(self.env) && !has(self.capabilities) && !has(self.resources) && !has(self.transport)",message="command, args, env, transport, capabilities and resources need image, the container that they are for"
type Blackbox struct {
	// Attachment is how the function is in the way of packets. Wire: what comes in by one side leaves by the other, or not at all. Tap: it gets a copy of
	// each packet, and gives nothing back; packets go on as if it were not there. Routed: it is a hop with addresses of its own, the gateways of two
	// interfaces of the chain. Service: it is a host in the network of an interface of the chain; packets to that network leave for it, and what it sends
	// goes on to either side, by its destination.
	// +optional
	// +kubebuilder:default=Wire
	Attachment BlackboxAttachment `json:"attachment,omitempty"`

	// Inside is the interface of the chain (wire: true, or with a gateway if the function is Routed) by which packets that come in at port `inside`, or
	// copies of them, leave for the function. Of a Service it is the only one, with an address in its network. Required, unless there are replicas.
	// +optional
	Inside Name `json:"inside,omitempty"`

	// Outside is the interface of the chain (wire: true, or with a gateway if the function is Routed) by which packets that come in at port `outside`, or
	// copies of them, leave for the function. A Tap without it gets copies of both directions by the other interface.
	// +optional
	Outside Name `json:"outside,omitempty"`

	// Address is that of a Service, in the network of its interface. It is asked by ARP again and again, so that the chain says when it is not there.
	// Without it, it is not watched.
	// +optional
	Address Address `json:"address,omitempty"`

	// Behavior is what the function may do to packets. Packets are compared with it as they leave and as they come back.
	// +optional
	Behavior BlackboxBehavior `json:"behavior,omitempty,omitzero"`

	// WhenDown is what becomes of packets while the function is down: while neither packets nor probes that the chain sends through it come back. Closed: they are
	// dropped. Open: they go on behind it at once, which is not for a function that writes header fields. Without whenDown the function is not watched:
	// packets leave for it, whatever becomes of them.
	// +optional
	WhenDown BlackboxWhenDown `json:"whenDown,omitempty"`

	// Bypass has flows go past the function once it has let enough of their packets through. Not for a function that writes header fields.
	// +optional
	Bypass *BlackboxBypass `json:"bypass,omitempty"`

	// Replicas are several of the function, in place of inside and outside. A flow is one replica's, in both directions, as long as it lives. New flows are
	// spread by their hosts' addresses over the replicas that are up and not draining; flows of a replica that is down go on at another one. With an
	// image, each replica is a container of its own, with the name of its wire inside.
	// +optional
	// +listType=map
	// +listMapKey=inside
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Replicas []BlackboxReplica `json:"replicas,omitempty"`

	// Affinity is for how long flows stay with their replicas, and how many there are.
	// +optional
	Affinity *BlackboxAffinity `json:"affinity,omitempty"`

	// Scaling says how many packets a container of the function can process, so that the chain gets more instances (spec.scaling.maxInstances) before these are
	// too many for it, and not only if they are too many for the engine. With an image only.
	// +optional
	Scaling *BlackboxScaling `json:"scaling,omitempty"`

	BlackboxContainer `json:",inline"`
}

// BlackboxScaling is how much a container of a blackbox can do, and how much of that it should be given.
type BlackboxScaling struct {
	// Capacity is how many packets per second one container processes without losing some, of both directions together.
	// +required
	Capacity PacketRate `json:"capacity,omitempty"`

	// TargetUtilization is the part of the capacity, in percent, above which the chain gets one more instance.
	// +optional
	// +kubebuilder:default=70
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=95
	TargetUtilization int32 `json:"targetUtilization,omitempty"`
}

// PacketRate is a number of packets per second, with a unit: pps, kpps, Mpps.
// +kubebuilder:validation:MinLength=4
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+)? ?[kM]?pps$`
type PacketRate string

// Ways are the wires of the function, or of its replicas.
func (b *Blackbox) Ways() []BlackboxReplica {
	if len(b.Replicas) > 0 {
		return b.Replicas
	}
	return []BlackboxReplica{{Inside: b.Inside, Outside: b.Outside}}
}

// BlackboxReplica is one of several blackboxes that do the same.
type BlackboxReplica struct {
	// Inside is the replica's interface of the chain (wire: true) by which packets that come in at port `inside` leave for it.
	// +required
	Inside Name `json:"inside,omitempty"`

	// Outside is the replica's interface of the chain (wire: true) by which packets that come in at port `outside` leave for it.
	// +required
	Outside Name `json:"outside,omitempty"`

	// Draining: the replica gets no new flows, as long as another one is up; those that it has stay. Take it out when it has none, or when the rest may
	// go on at another one.
	// +optional
	Draining bool `json:"draining,omitempty"`
}

// BlackboxAffinity bounds the flows that belong to replicas.
type BlackboxAffinity struct {
	// MaxFlows is the maximum number of flows that belong to one replica at the same time. Packets of further ones go to a replica by their hosts' addresses.
	// +optional
	// +kubebuilder:default=1000000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	MaxFlows int32 `json:"maxFlows,omitempty"`

	// Timeouts after which an idle flow is forgotten. Its next packet may go to another replica.
	// +optional
	// +kubebuilder:default={}
	Timeouts ConnectionTimeouts `json:"timeouts,omitempty,omitzero"`
}

// BlackboxBypass says when flows go past a blackbox. A packet counts when the function gives it back and it leaves the chain, so a flow of which the function
// drops everything never goes past. A SYN begins the count of its TCP connection again. Fragments, and ICMP but for queries and their replies, always
// go through.
type BlackboxBypass struct {
	// AfterPackets is how many packets of a flow, in both directions together, the function lets through before the flow goes past it.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	AfterPackets int32 `json:"afterPackets,omitempty"`

	// MaxFlows is the maximum number of flows that are counted or go past at the same time. All packets of others go through the function.
	// +optional
	// +kubebuilder:default=1000000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	MaxFlows int32 `json:"maxFlows,omitempty"`

	// Timeouts after which an idle flow is forgotten. Its next packets go through the function.
	// +optional
	// +kubebuilder:default={}
	Timeouts ConnectionTimeouts `json:"timeouts,omitempty,omitzero"`
}

// BlackboxContainer is a function that Sinter runs: a container beside each engine of the chain, in the same pod. Its network devices have the names of the
// function's interfaces.
type BlackboxContainer struct {
	// Image of the container.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Image string `json:"image,omitempty"`

	// Command in place of the image's entrypoint.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	Command []string `json:"command,omitempty"`

	// Args of the command, or of the image's entrypoint.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	Args []string `json:"args,omitempty"`

	// Env is the container's environment. SINTER_INSIDE and SINTER_OUTSIDE, the names of its network devices or the paths of its sockets, are there, too.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Env []BlackboxEnv `json:"env,omitempty"`

	// Transport is how frames get to the container and back. Veth: by network devices of the kernel, which have the names of the function's interfaces.
	// Memif: by memory that it shares with the engine, for functions with DPDK, VPP or libmemif; each interface has the socket
	// /run/memif/<interface>.sock, on which the engine waits. Absent: Veth.
	// +optional
	Transport BlackboxTransport `json:"transport,omitempty"`

	// Capabilities of the container beside those that every container gets on the node (Linux capabilities(7)). They reach no further than the pod.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	Capabilities []BlackboxCapability `json:"capabilities,omitempty"`

	// Resources of the container.
	// +optional
	Resources BlackboxResources `json:"resources,omitempty,omitzero"`
}

// BlackboxTransport is how frames get to a container and back.
// +kubebuilder:validation:Enum=Veth;Memif
type BlackboxTransport string

// Transports of blackboxes.
const (
	BlackboxVeth  BlackboxTransport = "Veth"  // pairs of network devices
	BlackboxMemif BlackboxTransport = "Memif" // shared memory
)

// BlackboxEnv is a variable of a container's environment.
type BlackboxEnv struct {
	// Name of the variable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	Name string `json:"name,omitempty"`

	// Value of the variable.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value,omitempty"`
}

// BlackboxCapability is a right of root that a blackbox may need.
// +kubebuilder:validation:Enum=NET_RAW;NET_ADMIN;IPC_LOCK;SYS_NICE
type BlackboxCapability string

// BlackboxResources are CPU and memory of a container. It gets as much as it asks for, and no more: the engine of the same pod has CPUs to itself only if
// the pod is of the class Guaranteed.
type BlackboxResources struct {
	// CPU in CPUs, from 10m to 64. A whole number gives the container CPUs of its own (the kubelet's static CPU manager).
	// +optional
	CPU resource.Quantity `json:"cpu,omitempty,omitzero"`

	// Memory of the container, from 1Mi to 10Ti.
	// +optional
	Memory resource.Quantity `json:"memory,omitempty,omitzero"`
}

// Most is what the container asks for and may use; where nothing is said, a CPU and 512 MiB.
func (r *BlackboxResources) Most() (cpu, memory resource.Quantity) {
	cpu, memory = r.CPU.DeepCopy(), r.Memory.DeepCopy()
	if cpu.IsZero() {
		cpu = resource.MustParse("1")
	}
	if memory.IsZero() {
		memory = resource.MustParse("512Mi")
	}
	return cpu, memory
}

// BlackboxAttachment is how a blackbox is in the way of packets.
// +kubebuilder:validation:Enum=Wire;Tap;Routed;Service
type BlackboxAttachment string

// Attachments of blackboxes.
const (
	BlackboxWire    BlackboxAttachment = "Wire"    // packets go through from side to side
	BlackboxTap     BlackboxAttachment = "Tap"     // it gets copies
	BlackboxRouted  BlackboxAttachment = "Routed"  // it is a hop with addresses
	BlackboxService BlackboxAttachment = "Service" // it is a host
)

// BlackboxWhenDown is what becomes of packets while a blackbox is down.
// +kubebuilder:validation:Enum=Open;Closed
type BlackboxWhenDown string

// Fates of packets while a blackbox is down.
const (
	BlackboxOpen   BlackboxWhenDown = "Open"
	BlackboxClosed BlackboxWhenDown = "Closed"
)

// BlackboxBehavior is what a blackbox may do to packets.
type BlackboxBehavior struct {
	// Writes are the header fields that it may write.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=7
	Writes []HeaderField `json:"writes,omitempty"`

	// Drops false says that the function lets every packet through. Absent: it may drop some.
	// +optional
	Drops *bool `json:"drops,omitempty"`

	// Resizes false says that the function changes the length of no packet. Absent: it may.
	// +optional
	Resizes *bool `json:"resizes,omitempty"`

	// Originates false says that the function sends no packets of its own, and none twice. Absent: it may.
	// +optional
	Originates *bool `json:"originates,omitempty"`

	// Reorders false says that the function gives the packets of a flow back in the order in which it got them. Absent: it may let some overtake others.
	// +optional
	Reorders *bool `json:"reorders,omitempty"`
}
