package v1alpha1

// Router forwards packets to the port of the longest prefix that contains their destination, and
// decrements their TTL. It replies with ICMP errors to packets whose TTL expires and to packets
// without a route. It knows the prefixes of the chain's interfaces and the pools of NAPTs behind
// each port, up to the next router: they need no routes.
type Router struct {
	// Ports of the router; absent: inside, outside.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Ports []RouterPort `json:"ports,omitempty"`

	// Address of the router: it replies to ping, and ICMP errors come from it. Absent: errors come
	// from the address of the interface by which the packet entered.
	// +optional
	Address Address `json:"address,omitempty"`

	// Routes to further prefixes.
	// +optional
	// +listType=map
	// +listMapKey=prefix
	// +kubebuilder:validation:MaxItems=4096
	Routes []Route `json:"routes,omitempty"`

	// RoutesFrom reads further routes from files, ConfigMaps or stores. Where two name the same
	// prefix, `routes` wins over files, and an earlier file over a later one.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	RoutesFrom []RoutesFrom `json:"routesFrom,omitempty"`
}

// RouterPort is a port of a router.
type RouterPort struct {
	// Name of the port.
	// +required
	Name Name `json:"name,omitempty"`

	// Address of the router on this port: for packets that came in by it, ICMP errors
	// come from here instead of from the router's address.
	// +optional
	Address Address `json:"address,omitempty"`
}

// RouteType is what happens to the packets of a route.
// +kubebuilder:validation:Enum=Forward;Discard;Unreachable;Prohibit
type RouteType string

// Types of routes.
const (
	// RouteForward sends packets to a port.
	RouteForward RouteType = "Forward"
	// RouteDiscard drops packets silently, as "<router>/discard".
	RouteDiscard RouteType = "Discard"
	// RouteUnreachable replies with ICMP host unreachable (type 3, code 1).
	RouteUnreachable RouteType = "Unreachable"
	// RouteProhibit replies with ICMP communication administratively prohibited (type 3, code 13).
	RouteProhibit RouteType = "Prohibit"
)

// Route forwards a prefix to a port, or drops or rejects its packets.
// +kubebuilder:validation:XValidation:rule="has(self.type) && self.type != 'Forward' || has(self.port)",message="set port: a route of type Forward leads to one"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type == 'Forward' || !has(self.port) && !has(self.via)",message="leave port and via out: a route of type Discard, Unreachable or Prohibit leads nowhere"
type Route struct {
	// Prefix of destinations.
	// +required
	Prefix Prefix `json:"prefix,omitempty"`

	// Type: Forward sends packets to `port`; Discard drops them silently; Unreachable replies with
	// ICMP host unreachable, Prohibit with administratively prohibited.
	// +optional
	// +kubebuilder:default=Forward
	Type RouteType `json:"type,omitempty"`

	// Port that the packets leave by, if the type is Forward.
	// +optional
	Port Name `json:"port,omitempty"`

	// Via is the next hop, an address on-link at the port; absent: the
	// destination itself, else the interface's gateway.
	// +optional
	Via Address `json:"via,omitempty"`

	// BySource has routes for packets of the prefix that come from some sources (policy routing):
	// of the first entry whose `from` holds the source. Packets from other sources take the route
	// itself.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	BySource []RouteBySource `json:"bySource,omitempty"`
}

// RouteBySource is where a route's packets from some sources go.
type RouteBySource struct {
	// From are the prefixes of the sources.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	From []Prefix `json:"from,omitempty"`

	// Type, as of a route.
	// +optional
	// +kubebuilder:default=Forward
	Type RouteType `json:"type,omitempty"`

	// Port that the packets leave by, if the type is Forward.
	// +optional
	Port Name `json:"port,omitempty"`

	// Via is the next hop, an address on-link at the port; absent: the destination itself, else the
	// interface's gateway.
	// +optional
	Via Address `json:"via,omitempty"`
}

// RouteFormat is the format of a file of routes.
// +kubebuilder:validation:Enum=Prefixes
type RouteFormat string

// FormatPrefixes is a file with one prefix per line.
const FormatPrefixes RouteFormat = "Prefixes"

// RoutesFrom is a file of prefixes whose routes have the same type and port.
// +kubebuilder:validation:XValidation:rule="[has(self.file), has(self.configMapRef), has(self.store)].filter(x, x).size() == 1",message="set exactly one of file, configMapRef, store"
// +kubebuilder:validation:XValidation:rule="has(self.type) && self.type != 'Forward' || has(self.port)",message="set port: routes of type Forward lead to one"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type == 'Forward' || !has(self.port) && !has(self.via)",message="leave port and via out: routes of type Discard, Unreachable or Prohibit lead nowhere"
type RoutesFrom struct {
	// File with the prefixes, relative to the file that names it; may end in .gz.
	// Files are for sinterctl; in a cluster the text comes from a ConfigMap.
	// +optional
	File FilePath `json:"file,omitempty"`

	// ConfigMapRef is the ConfigMap's key with the prefixes; binary data may be gzipped.
	// +optional
	ConfigMapRef *ConfigMapKeyRef `json:"configMapRef,omitempty"`

	// Store is where the prefixes are if they are too many for a ConfigMap: operator and agents read
	// them from there. They may be gzipped. The administrator says which stores are read.
	// +optional
	Store *StoreObject `json:"store,omitempty"`

	// Format of the text. Prefixes: one per line; IPv6 prefixes are ignored.
	// +optional
	// +kubebuilder:default=Prefixes
	Format RouteFormat `json:"format,omitempty"`

	// Type of all routes of the text, as in `routes`.
	// +optional
	// +kubebuilder:default=Forward
	Type RouteType `json:"type,omitempty"`

	// Port that the packets leave by, if the type is Forward.
	// +optional
	Port Name `json:"port,omitempty"`

	// Via is the next hop, as in `routes`.
	// +optional
	Via Address `json:"via,omitempty"`
}

// Name names the text in messages and among the files that were read.
func (r *RoutesFrom) Name() string { return r.Text().Name() }

// Text is where the prefixes are.
func (r *RoutesFrom) Text() TextSource {
	return TextSource{File: r.File, ConfigMapRef: r.ConfigMapRef, Store: r.Store}
}
