package v1alpha1

import (
	"iter"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NetworkFunction is a network function that chains refer to.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=nf,categories=sinter
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.status.kind`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Chains",type=integer,JSONPath=`.status.chains`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NetworkFunction struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// Spec is the function.
	// +required
	Spec NetworkFunctionSpec `json:"spec"`

	// Status is what the operator observed.
	// +optional
	Status NetworkFunctionStatus `json:"status,omitempty,omitzero"`
}

// NetworkFunctionStatus is what the operator observed. The condition Ready tells whether all chains that refer to the function run what it says now.
type NetworkFunctionStatus struct {
	Status `json:",inline"`

	// Kind is the kind of the function, the name of the field of the spec that is set.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// Chains is the number of chains that refer to the function.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Chains int32 `json:"chains"`
}

// Reasons of a NetworkFunction's condition Ready, beside Forwarding, Pinned and those of a chain's.
const (
	ReasonNotUsed = "NotUsed" // no chain refers to the function
	ReasonPending = "Pending" // a chain has not taken over the function's newest generation yet
)

// NetworkFunctionList is a list of network functions.
//
// +kubebuilder:object:root=true
type NetworkFunctionList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// +required
	Items []NetworkFunction `json:"items"`
}

// NetworkFunctionSpec is a network function of one kind.
// +kubebuilder:validation:XValidation:rule="[has(self.firewall), has(self.router), has(self.napt), has(self.monitor), has(self.rateLimiter), has(self.connectionLimiter), has(self.loadBalancer), has(self.inspect), has(self.blackbox), has(self.elements), has(self.click)].filter(x, x).size() == 1",message="set exactly one of firewall, router, napt, monitor, rateLimiter, connectionLimiter, loadBalancer, inspect, blackbox, elements, click"
type NetworkFunctionSpec struct {
	FunctionKinds `json:",inline"`
}

// FunctionKinds has one member per kind of network function; exactly one is set. Rules that say so are generated from it.
type FunctionKinds struct {
	// Firewall filters packets by ordered rules.
	// +optional
	Firewall *Firewall `json:"firewall,omitempty"`

	// Router forwards by longest prefix match.
	// +optional
	Router *Router `json:"router,omitempty"`

	// NAPT translates source addresses and ports.
	// +optional
	NAPT *NAPT `json:"napt,omitempty"`

	// Monitor counts packets and bytes per class and lets everything pass.
	// +optional
	Monitor *Monitor `json:"monitor,omitempty"`

	// RateLimiter limits rates by token buckets.
	// +optional
	RateLimiter *RateLimiter `json:"rateLimiter,omitempty"`

	// ConnectionLimiter bounds the connections of each host.
	// +optional
	ConnectionLimiter *ConnectionLimiter `json:"connectionLimiter,omitempty"`

	// LoadBalancer spreads flows over backends.
	// +optional
	LoadBalancer *LoadBalancer `json:"loadBalancer,omitempty"`

	// Inspect looks into packets, and drops, marks or counts those that match.
	// +optional
	Inspect *Inspect `json:"inspect,omitempty"`

	// Blackbox is a function that someone else runs, such as an intrusion prevention system, between two interfaces of the chain.
	// +optional
	Blackbox *Blackbox `json:"blackbox,omitempty"`

	// Elements is a graph of elements, for functions of your own.
	// +optional
	Elements *Elements `json:"elements,omitempty"`

	// Click is a configuration of the Click modular router. Its devices are the function's ports: FromDevice(eth0) and ToDevice(eth0)
	// are the port eth0.
	// +optional
	Click ClickConfiguration `json:"click,omitempty"`
}

// ClickConfiguration is a text in the language of the Click modular router.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=262144
type ClickConfiguration string

// Kind is the name of the field that is set; empty: none is.
func (f *FunctionKinds) Kind() string {
	v := reflect.ValueOf(f).Elem()
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			return name
		}
	}
	return ""
}

// ConfigMaps are the keys of ConfigMaps that the function takes texts from.
func (f *FunctionKinds) ConfigMaps() iter.Seq[*ConfigMapKeyRef] {
	return func(yield func(*ConfigMapKeyRef) bool) {
		if f.Firewall != nil && f.Firewall.RulesFrom != nil && f.Firewall.RulesFrom.ConfigMapRef != nil {
			if !yield(f.Firewall.RulesFrom.ConfigMapRef) {
				return
			}
		}
		if f.Inspect != nil && f.Inspect.RulesFrom != nil && f.Inspect.RulesFrom.ConfigMapRef != nil {
			if !yield(f.Inspect.RulesFrom.ConfigMapRef) {
				return
			}
		}
		if f.Router == nil {
			return
		}
		for i := range f.Router.RoutesFrom {
			if ref := f.Router.RoutesFrom[i].ConfigMapRef; ref != nil && !yield(ref) {
				return
			}
		}
	}
}

// Service is the Service whose endpoints are the function's backends; nil: none.
func (f *FunctionKinds) Service() *ServiceRef {
	if f.LoadBalancer == nil || f.LoadBalancer.BackendsFrom == nil {
		return nil
	}
	return f.LoadBalancer.BackendsFrom.ServiceRef
}
