package cluster

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Collect writes a compressed tar file with what a support ticket needs: Sinter's objects,
// its pods and the end of their logs, the events about both, and versions. What cannot be
// read is told in the file errors.txt, and counted. Neither Secrets nor ConfigMaps are read, and of the
// containers' variables only the names are kept.
func (c *Cluster) Collect(ctx context.Context, w io.Writer, version string) (missing int, err error) {
	a := newArchive(w, c.Now())
	k := &collection{Cluster: c, archive: a}
	if err := k.all(ctx, version); err != nil {
		return 0, err
	}
	return len(k.missing), a.close()
}

// collection is an archive in the making.
type collection struct {
	*Cluster
	archive *archive
	missing []string // and why
}

// all fails when the archive does; the cluster may answer as it likes.
func (k *collection) all(ctx context.Context, version string) error {
	for _, list := range []client.ObjectList{
		&v1alpha1.ServiceChainList{}, &v1alpha1.NetworkFunctionList{}, &v1alpha1.ChainProgramList{}, &v1alpha1.ChainInstanceList{},
	} {
		if err := k.objects(ctx, list); err != nil {
			return err
		}
	}
	pods := k.pods(ctx)
	versions := "sinterctl: " + version + "\n"
	if server, err := k.Pods.Server(ctx); err != nil {
		k.miss("version of the API server", err)
	} else {
		versions += "API server: " + server.Version + "\n"
	}
	for i := range pods {
		p := &pods[i]
		for _, n := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
			versions += fmt.Sprintf("%s/%s %s: %s\n", p.Namespace, p.Name, n.Name, n.Image)
		}
		if err := k.pod(ctx, p); err != nil {
			return err
		}
	}
	if err := k.events(ctx, pods); err != nil {
		return err
	}
	if len(k.missing) > 0 {
		if err := k.archive.add("errors.txt", []byte(strings.Join(k.missing, "\n")+"\n")); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return k.archive.add("versions.txt", []byte(versions))
}

func (k *collection) miss(what string, err error) {
	k.missing = append(k.missing, fmt.Sprintf("%s: %v", what, err))
}

// objects adds Sinter's objects of a kind.
func (k *collection) objects(ctx context.Context, list client.ObjectList) error {
	if err := k.list(ctx, list); err != nil {
		k.miss("objects", err)
		return nil
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := k.object(item.(client.Object)); err != nil {
			return err
		}
	}
	return nil
}

// object adds an object as YAML, in the folder of its namespace and kind.
func (k *collection) object(o client.Object) error {
	gvk, err := apiutil.GVKForObject(o, k.Client.Scheme())
	if err != nil {
		return err
	}
	o.GetObjectKind().SetGroupVersionKind(gvk)
	o.SetManagedFields(nil)
	annotations := o.GetAnnotations()
	delete(annotations, corev1.LastAppliedConfigAnnotation) // says all once more
	o.SetAnnotations(annotations)
	text, err := yaml.Marshal(o)
	if err != nil {
		return err
	}
	return k.archive.add(path.Join(o.GetNamespace(), strings.ToLower(gvk.Kind), o.GetName()+".yaml"), text)
}

// pods are the data plane's of the namespace, and the operator's, wherever it is.
func (k *collection) pods(ctx context.Context) []corev1.Pod {
	var dataPlane, operator corev1.PodList
	err := k.Client.List(ctx, &dataPlane, client.InNamespace(k.Namespace), client.HasLabels{v1alpha1.LabelChain},
		client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentDataPlane})
	if err != nil {
		k.miss("pods of the data plane", err)
	}
	err = k.Client.List(ctx, &operator, client.MatchingLabels{"app.kubernetes.io/part-of": "sinter", v1alpha1.LabelComponent: "operator"})
	if err != nil {
		k.miss("pods of the operator", err)
	}
	all := append(dataPlane.Items, operator.Items...)
	slices.SortFunc(all, func(a, b corev1.Pod) int { return byName(&a, &b) })
	return all
}

// pod adds a pod and its logs.
func (k *collection) pod(ctx context.Context, p *corev1.Pod) error {
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			hideVariables(list[i].Env)
		}
	}
	for i := range p.Spec.EphemeralContainers {
		hideVariables(p.Spec.EphemeralContainers[i].Env)
	}
	if err := k.object(p); err != nil {
		return err
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if err := k.log(ctx, p, s.Name, false); err != nil {
			return err
		}
		if s.RestartCount > 0 {
			if err := k.log(ctx, p, s.Name, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// hideVariables takes out values: an injector may have written a secret there.
func hideVariables(env []corev1.EnvVar) {
	for i := range env {
		if env[i].Value != "" {
			env[i].Value = "(not collected)"
		}
	}
}

func (k *collection) log(ctx context.Context, p *corev1.Pod, container string, previous bool) error {
	name := path.Join(p.Namespace, "pod", p.Name+"."+container)
	if previous {
		name += ".previous"
	}
	text, err := k.Pods.Log(ctx, client.ObjectKeyFromObject(p), container, previous)
	if err != nil {
		k.miss(name+".log", err)
		return nil
	}
	return k.archive.add(name+".log", text)
}

// events adds the events about Sinter's objects and pods, by namespace.
func (k *collection) events(ctx context.Context, pods []corev1.Pod) error {
	namespaces := []string{k.Namespace}
	ours := map[string]bool{}
	for i := range pods {
		ours[pods[i].Namespace+"/"+pods[i].Name] = true
		if k.Namespace != "" && !slices.Contains(namespaces, pods[i].Namespace) {
			namespaces = append(namespaces, pods[i].Namespace)
		}
	}
	for _, namespace := range namespaces {
		var list corev1.EventList
		if err := k.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			k.miss("events", err)
			continue
		}
		for i := range list.Items {
			about := &list.Items[i].InvolvedObject
			sinters := strings.HasPrefix(about.APIVersion, v1alpha1.GroupVersion.Group+"/")
			if !sinters && (about.Kind != "Pod" || !ours[about.Namespace+"/"+about.Name]) {
				continue
			}
			if err := k.object(&list.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
