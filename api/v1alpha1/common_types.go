package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Name names an interface, a function, a port or an element: a DNS label.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
type Name string

// RuleName names a rule or a class in counters, warnings and explanations.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
type RuleName string

// Endpoint is one end of a link: a name, or a name and a port ("rt.outside").
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=127
// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?(\.[a-z]([-a-z0-9]*[a-z0-9])?)?$`
type Endpoint string

// Address is an IP address. The schema leaves room for IPv6; the compiler takes IPv4.
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=45
type Address string

// Prefix is an IP prefix ("10.0.0.0/8").
// +kubebuilder:validation:MinLength=4
// +kubebuilder:validation:MaxLength=49
type Prefix string

// AddressSet is an address, a prefix, or a range "first-last".
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=91
type AddressSet string

// MACAddress is an Ethernet address ("02:00:00:00:00:01").
// +kubebuilder:validation:MinLength=17
// +kubebuilder:validation:MaxLength=17
// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$`
type MACAddress string

// FilePath is a file's path, relative to the file that names it.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=1024
type FilePath string

// ConfigMapKeyRef refers to a key of a ConfigMap of the same namespace.
type ConfigMapKeyRef struct {
	// Name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Key of its data or binary data.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// StoreObject is an object of a store that is read by HTTP GET. The hash says which content is meant, whoever reads it, and when.
type StoreObject struct {
	// URL of the object; without a user's name, and without parts that change ("..", "?", "#").
	// +required
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https?://[^/@?#\s]+/[^?#\s]+$`
	URL string `json:"url,omitempty"`

	// SHA256 of the object as it is stored, as sha256sum prints it.
	// +required
	// +kubebuilder:validation:MinLength=64
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	SHA256 string `json:"sha256,omitempty"`
}

// TextSource is where a text is: in one of them.
// +kubebuilder:object:generate=false
type TextSource struct {
	File         FilePath
	ConfigMapRef *ConfigMapKeyRef
	Store        *StoreObject
}

// Name names the text in messages and among the files that were read.
func (s TextSource) Name() string {
	switch {
	case s.ConfigMapRef != nil:
		return "configmap/" + s.ConfigMapRef.Name + "/" + s.ConfigMapRef.Key
	case s.Store != nil:
		return s.Store.URL + "@" + s.Store.SHA256[:min(12, len(s.Store.SHA256))]
	}
	return string(s.File)
}

// Status is what the operator observed.
type Status struct {
	// ObservedGeneration is the generation of the spec that the status is about.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions of the object.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
