// Package apply writes objects by server-side apply: operator and agents own the fields
// that they set, and no others. What is set is an apply configuration: those of our kinds are
// generated (package api/applyconfiguration), those of Kubernetes' kinds come with client-go.
package apply

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Configuration is an object's apply configuration.
type Configuration interface {
	runtime.ApplyConfiguration
	GetKind() *string
	GetName() *string
}

// Object applies an object without its status. The configuration becomes what the API server returns.
func Object(ctx context.Context, c client.Client, owner client.FieldOwner, o Configuration) error {
	if err := c.Apply(ctx, o, owner, client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s %s: %w", *o.GetKind(), *o.GetName(), err)
	}
	return nil
}

// Status applies an object's status. The configuration becomes what the API server returns. Give it the object's UID:
// it protects an object of the same name that was created later.
func Status(ctx context.Context, c client.Client, owner client.FieldOwner, o Configuration) error {
	if err := c.Status().Apply(ctx, o, owner, client.ForceOwnership); err != nil {
		return fmt.Errorf("status of %s %s: %w", *o.GetKind(), *o.GetName(), err)
	}
	return nil
}

// From is the apply configuration C that sets all fields of a spec or status. C is generated from the value's type,
// so their JSON has the same fields. A field that is empty is not set if its tag says omitempty.
func From[C any](value any) (*C, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	c := new(C)
	return c, json.Unmarshal(data, c)
}

// Conditions are apply configurations of conditions.
func Conditions(list []metav1.Condition) []*metav1ac.ConditionApplyConfiguration {
	out := make([]*metav1ac.ConditionApplyConfiguration, len(list))
	for i, c := range list {
		out[i] = metav1ac.Condition().WithType(c.Type).WithStatus(c.Status).WithReason(c.Reason).WithMessage(c.Message).
			WithObservedGeneration(c.ObservedGeneration).WithLastTransitionTime(c.LastTransitionTime)
	}
	return out
}
