// Package apply writes objects by server-side apply: operator and agents own the fields
// that they say, and no others.
package apply

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Object applies an object without its status.
func Object(ctx context.Context, c client.Client, owner client.FieldOwner, obj client.Object) error {
	u, err := toUnstructured(c, obj)
	if err != nil {
		return err
	}
	delete(u.Object, "status")
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), owner, client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s %s: %w", u.GetKind(), obj.GetName(), err)
	}
	return nil
}

// Status applies an object's status alone, all of its fields. The object gets the version that this makes.
func Status(ctx context.Context, c client.Client, owner client.FieldOwner, obj client.Object) error {
	u, err := toUnstructured(c, obj)
	if err != nil {
		return err
	}
	return status(ctx, c, owner, obj, u.Object["status"])
}

// Conditions applies some conditions of an object, whose status is otherwise another's. The object gets the
// version that this makes.
func Conditions(ctx context.Context, c client.Client, owner client.FieldOwner, obj client.Object, list []metav1.Condition) error {
	conditions := make([]any, len(list))
	for i := range list {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&list[i])
		if err != nil {
			return err
		}
		conditions[i] = content
	}
	return status(ctx, c, owner, obj, map[string]any{"conditions": conditions})
}

func status(ctx context.Context, c client.Client, owner client.FieldOwner, obj client.Object, content any) error {
	gvk, err := apiutil.GVKForObject(obj, c.Scheme())
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": content}}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(obj.GetNamespace())
	u.SetName(obj.GetName())
	u.SetUID(obj.GetUID()) // keeps it from an object of the same name that came later
	if err := c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), owner, client.ForceOwnership); err != nil {
		return fmt.Errorf("status of %s %s: %w", gvk.Kind, obj.GetName(), err)
	}
	obj.SetResourceVersion(u.GetResourceVersion())
	return nil
}

func toUnstructured(c client.Client, obj client.Object) (*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(obj, c.Scheme())
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", gvk.Kind, obj.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return u, nil
}
