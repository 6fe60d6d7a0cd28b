package manifest

import (
	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// neighbours looks in the folders of chains for functions and ConfigMaps that they
// refer to.
func (l *loader) neighbours() {
	for _, c := range l.bundle.Chains {
		l.lookAround(c, l.missingFunctions(c))
		l.lookAround(c, l.missingConfigMaps(c)) // those of the functions found, too
	}
}

func (l *loader) lookAround(c *v1alpha1.ServiceChain, missing map[finding.Object]bool) {
	if len(missing) == 0 {
		return
	}
	chain := finding.Object{Kind: v1alpha1.KindServiceChain, Namespace: c.Namespace, Name: c.Name}
	files, err := expand(folder(l.bundle.documents[chain].file))
	if err != nil {
		return // the graph says what is missing
	}
	for _, file := range files {
		before := len(l.bundle.documents) + len(l.configMaps)
		l.file(file, func(o finding.Object) bool { return missing[o] })
		if len(l.bundle.documents)+len(l.configMaps) > before {
			l.bundle.Sources = append(l.bundle.Sources, file)
		}
	}
}

func (l *loader) missingFunctions(c *v1alpha1.ServiceChain) map[finding.Object]bool {
	missing := map[finding.Object]bool{}
	for _, f := range c.Spec.Functions {
		if f.FunctionRef != nil {
			o := finding.Object{Kind: v1alpha1.KindNetworkFunction, Namespace: c.Namespace, Name: f.FunctionRef.Name}
			if l.bundle.documents[o] == nil {
				missing[o] = true
			}
		}
	}
	return missing
}

func (l *loader) missingConfigMaps(c *v1alpha1.ServiceChain) map[finding.Object]bool {
	missing := map[finding.Object]bool{}
	look := func(f *v1alpha1.FunctionKinds) {
		for ref := range f.ConfigMaps() {
			if l.configMaps[configMap{c.Namespace, ref.Name}] == nil {
				missing[finding.Object{Kind: "ConfigMap", Namespace: c.Namespace, Name: ref.Name}] = true
			}
		}
	}
	for i := range c.Spec.Functions {
		look(&c.Spec.Functions[i].FunctionKinds)
	}
	for _, f := range l.bundle.Functions {
		if f.Namespace == c.Namespace {
			look(&f.Spec.FunctionKinds)
		}
	}
	return missing
}
