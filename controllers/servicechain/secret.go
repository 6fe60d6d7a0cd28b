package servicechain

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
)

// secretBytes are random; agents derive keys from them.
const secretBytes = 32

// ensureSecret makes the secret of a chain whose first instance that shares its state is about to be made. It
// is never read, nor made again: pods that have one secret do not talk to pods that have another.
func (r *Reconciler) ensureSecret(ctx context.Context, s *scope) error {
	shares := func(i v1alpha1.ChainInstance) bool { return i.Spec.Shared }
	if !s.Chain.Spec.Scaling.Shared() || slices.ContainsFunc(s.Instances, shares) {
		return nil
	}
	name := v1alpha1.ChainSecretName(s.Chain.Name, s.Chain.UID)
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // never fails
	err := r.Client.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Chain.Namespace, Name: name,
			Labels: desired.Labels(s.Chain), OwnerReferences: desired.Owner(s.Chain),
		},
		Data: map[string][]byte{v1alpha1.ChainSecretKey: []byte(hex.EncodeToString(secret))},
	}, fieldManager)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Secret %s: %w", name, err)
	}
	return nil
}
