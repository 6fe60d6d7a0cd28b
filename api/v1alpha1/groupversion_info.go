// Package v1alpha1 is the language of service chains: the types that users
// write, as Kubernetes resources or as YAML files for sinterctl. The markers are
// the source of the CRD schemas, and those of the checks of package manifest.
//
// +kubebuilder:object:generate=true
// +groupName=nfv.sinter.dev
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package="../applyconfiguration"
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:generate go run ../../hack/oneof .
//go:generate controller-gen object paths=.
//go:generate controller-gen applyconfiguration paths=.
//go:generate controller-gen crd:headerFile= paths=. output:crd:dir=../../config/crd

// GroupVersion is the API group and version of the types in this package.
var GroupVersion = schema.GroupVersion{Group: "nfv.sinter.dev", Version: "v1alpha1"}

// SchemeGroupVersion is GroupVersion, by the name that generated apply configurations expect.
var SchemeGroupVersion = GroupVersion

// Kinds of this package.
const (
	KindServiceChain    = "ServiceChain"
	KindNetworkFunction = "NetworkFunction"
	KindChainProgram    = "ChainProgram"
	KindChainInstance   = "ChainInstance"
)

// AddToScheme registers the types of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&ServiceChain{}, &ServiceChainList{},
		&NetworkFunction{}, &NetworkFunctionList{},
		&ChainProgram{}, &ChainProgramList{},
		&ChainInstance{}, &ChainInstanceList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
