package servicechain_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// The API server that the tests share, as its administrator and with the rights that the
// operator has; nil without KUBEBUILDER_ASSETS.
var cluster, asOperator *rest.Config

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code, err := withCluster(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func withCluster(m *testing.M) (code int, err error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return m.Run(), nil
	}
	env := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd")},
		ErrorIfCRDPathMissing: true,
	}
	// The strictest that owner references can meet.
	env.ControlPlane.GetAPIServer().Configure().Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	if cluster, err = env.Start(); err != nil {
		return 1, fmt.Errorf("API server: %w", err)
	}
	defer func() { err = errors.Join(err, env.Stop()) }()
	user, err := env.AddUser(envtest.User{Name: operatorUser}, nil)
	if err != nil {
		return 1, fmt.Errorf("user %s: %w", operatorUser, err)
	}
	asOperator = user.Config()
	asOperator.QPS, asOperator.Burst = 200, 400 // the command's default
	if err := grant(); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

const operatorUser = "sinter-operator"

// grant gives the operator the roles that are generated for it, and no more.
func grant() error {
	c, err := client.New(cluster, client.Options{})
	if err != nil {
		return err
	}
	for _, file := range []string{"role.yaml"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "config", "rbac", file))
		if err != nil {
			return err
		}
		var role rbacv1.ClusterRole // the first document
		if err := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096).Decode(&role); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := c.Create(context.Background(), &role); err != nil {
			return err
		}
	}
	return c.Create(context.Background(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: operatorUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "sinter-operator"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: operatorUser}},
	})
}

func needCluster(t *testing.T) {
	t.Helper()
	if cluster == nil {
		t.Skip("no API server: KUBEBUILDER_ASSETS is not set; make test-envtest builds one and sets it")
	}
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), v1alpha1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	return s
}
