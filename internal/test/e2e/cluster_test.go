package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/purekube/purekube/internal/test/e2e/cluster"
)

// world is a cluster, as the tests act in it.
type world struct {
	*cluster.Cluster
	*kubernetes.Clientset // as admin
	folder                string
	// disturb is called by stories in the middle of things.
	disturb func()
}

// running limits the clusters at the same time: a machine with few cores would be too slow for the tests. No test
// takes more than two, so that one of two such tests gets its second.
var running = make(chan struct{}, 3)

// newWorld starts a cluster that ends with the test, with these flags of the API server in addition. Where the test fails, its
// files stay.
func newWorld(t *testing.T, flags ...string) *world {
	t.Helper()
	running <- struct{}{}
	t.Cleanup(func() { <-running })
	folder, err := os.MkdirTemp("", "e2e-"+strings.ReplaceAll(t.Name(), "/", "-")+"-")
	require.NoError(t, err)
	started := time.Now()
	c, err := cluster.Start(bin, folder, flags...)
	require.NoError(t, err)
	t.Logf("The API server is ready after %.1f s", time.Since(started).Seconds())
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("The logs are in %s", folder)
			return
		}
		os.RemoveAll(folder)
	})
	client, err := kubernetes.NewForConfig(c.Config(cluster.Admin))
	require.NoError(t, err)
	w := &world{Cluster: c, Clientset: client, folder: folder, disturb: func() {}}
	w.apply(t, filepath.Join("..", "..", "..", "examples", "manager", "manifests", "rbac.yaml"))
	return w
}

// apply creates the objects of a file.
func (w *world) apply(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
		require.NoError(t, err)
		switch o := object.(type) {
		case *corev1.Namespace:
			_, err = w.CoreV1().Namespaces().Create(t.Context(), o, metav1.CreateOptions{})
		case *corev1.ServiceAccount:
			_, err = w.CoreV1().ServiceAccounts(o.Namespace).Create(t.Context(), o, metav1.CreateOptions{})
		case *rbacv1.ClusterRole:
			_, err = w.RbacV1().ClusterRoles().Create(t.Context(), o, metav1.CreateOptions{})
		case *rbacv1.ClusterRoleBinding:
			_, err = w.RbacV1().ClusterRoleBindings().Create(t.Context(), o, metav1.CreateOptions{})
		case *rbacv1.Role:
			_, err = w.RbacV1().Roles(o.Namespace).Create(t.Context(), o, metav1.CreateOptions{})
		case *rbacv1.RoleBinding:
			_, err = w.RbacV1().RoleBindings(o.Namespace).Create(t.Context(), o, metav1.CreateOptions{})
		default:
			t.Fatalf("%s: do not know how to create a %T", path, object)
		}
		require.NoError(t, err)
	}
}

// namespace makes one for the test.
func (w *world) namespace(t *testing.T, name string) string {
	t.Helper()
	_, err := w.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return name
}

// eventually waits until the check finds nothing wrong.
func eventually(t *testing.T, within time.Duration, what string, check func(context.Context) error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := check(t.Context())
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v", what, within, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// throughout holds that the check finds nothing wrong in all that time.
func throughout(t *testing.T, time_ time.Duration, what string, check func(context.Context) error) {
	t.Helper()
	for deadline := time.Now().Add(time_); time.Now().Before(deadline); time.Sleep(250 * time.Millisecond) {
		if err := check(t.Context()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// expect is an error unless the two are equal.
func expect[T comparable](what string, want, got T) error {
	if want != got {
		return fmt.Errorf("%s is %v, not %v", what, got, want)
	}
	return nil
}

// patience is how long a test waits for what takes moments: the machine may be slow, and the manager down for a while.
const patience = 2 * time.Minute

func (w *world) log(name string) string { return filepath.Join(w.folder, name+".log") }
