package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/internal/test/e2e/cluster"
)

// A real API server asks examples/webhook before it carries out a write, with the rights and the configuration of
// docs/webhook.md: each of its refusals, to a dry run and to the write itself, and a write of each kind that it admits. The
// manager makes the cluster; then it is stopped, and what it wrote last is out of date.
func TestWebhook(t *testing.T) {
	w := newWorld(t)
	m := w.start(t, clientGo, "manager", w.Endpoint(), clientGo.alone...)
	ns := w.namespace(t, "shop")
	w.createServiceCIDR(t, "used", "10.30.0.0/28")
	w.createServiceCIDR(t, "free", "10.31.0.0/28")
	w.createService(t, ns, "web", "10.30.0.5")
	rs := w.createReplicaSet(t, ns, "web", 2)
	for _, name := range []string{"web-a", "web-b"} {
		w.createPod(t, ns, name, "web", rs)
		w.setReady(t, ns, name, true)
	}
	w.createBudget(t, ns, "web", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1))})
	eventually(t, patience, "one pod may go", w.budgetIs(ns, "web", budgetStatus{allowed: 1, expected: 2, desired: 1, healthy: 2}))
	eventually(t, patience, "view is aggregated", func(ctx context.Context) error {
		view, err := w.RbacV1().ClusterRoles().Get(ctx, "view", metav1.GetOptions{})
		if err == nil && len(view.Rules) == 0 {
			err = fmt.Errorf("view has no rules")
		}
		return err
	})
	m.stop(t)

	hook := w.newWebhook(t)
	hook.start(t, "-refuse-budgets")
	all := []string{metav1.DryRunAll}
	deleteCIDR := func(name string) func(context.Context, []string) error {
		return func(ctx context.Context, dryRun []string) error {
			return w.NetworkingV1().ServiceCIDRs().Delete(ctx, name, metav1.DeleteOptions{DryRun: dryRun})
		}
	}
	createRole := func(name string, rule rbacv1.PolicyRule) func(context.Context, []string) error {
		return func(ctx context.Context, dryRun []string) error {
			_, err := w.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}}, Rules: []rbacv1.PolicyRule{rule},
			}, metav1.CreateOptions{DryRun: dryRun})
			return err
		}
	}
	evict := func(pod string) func(context.Context, []string) error {
		return func(ctx context.Context, dryRun []string) error {
			return w.PolicyV1().Evictions(ns).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: pod}, DeleteOptions: &metav1.DeleteOptions{DryRun: dryRun}})
		}
	}
	changeBudget := func(to int32) func(context.Context, []string) error {
		return func(ctx context.Context, dryRun []string) error {
			_, err := w.PolicyV1().PodDisruptionBudgets(ns).Patch(ctx, "web", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"maxUnavailable":%d}}`, to), metav1.PatchOptions{DryRun: dryRun})
			return err
		}
	}
	core := func(resource string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{resource}}
	}

	// Both pods are ready: the same eviction is allowed now, and refused once the other pod is not ready.
	eventually(t, patience, "an eviction is admitted", func(ctx context.Context) error { return evict("web-b")(ctx, all) })
	eventually(t, patience, "the webhook was asked", hook.answered("subresource=eviction", "name=web-b", "allowed=true"))
	w.setReady(t, ns, "web-a", false)

	for _, tc := range []struct {
		name, reason string
		write        func(context.Context, []string) error
		code         int32
		message      string
	}{
		{"a ServiceCIDR in use", "its address would have no range", deleteCIDR("used"), http.StatusConflict, "ServiceCIDR used is the only range of 10.30.0.5 (Service shop/web)"},
		{"a role that gives view secrets", "the allow-list has pods and services", createRole("team-secrets", core("secrets")), http.StatusForbidden, `ClusterRole view would get a rule that is not allowed for it: ["get"] on ["secrets"] of [""]`},
		{"view itself, replaced", "without its aggregationRule it keeps what is written", func(ctx context.Context, dryRun []string) error {
			_, err := w.RbacV1().ClusterRoles().Patch(ctx, "view", types.MergePatchType,
				[]byte(`{"aggregationRule":null,"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]}`), metav1.PatchOptions{DryRun: dryRun})
			return err
		}, http.StatusForbidden, "ClusterRole view would lose a selector"},
		{"the rules of view", "they are granted until the next pass", func(ctx context.Context, dryRun []string) error {
			_, err := w.RbacV1().ClusterRoles().Patch(ctx, "view", types.MergePatchType,
				[]byte(`{"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]}`), metav1.PatchOptions{DryRun: dryRun})
			return err
		}, http.StatusForbidden, "ClusterRole view would get a rule that is not allowed"},
		{"view deleted", "the API server creates it again, with what was labelled meanwhile", func(ctx context.Context, dryRun []string) error {
			return w.RbacV1().ClusterRoles().Delete(ctx, "view", metav1.DeleteOptions{DryRun: dryRun})
		}, http.StatusForbidden, "ClusterRole view would lose a selector"},
		{"view in a collection that is deleted", "its review has no name", func(ctx context.Context, dryRun []string) error {
			return w.RbacV1().ClusterRoles().DeleteCollection(ctx, metav1.DeleteOptions{DryRun: dryRun}, metav1.ListOptions{FieldSelector: "metadata.name=view"})
		}, http.StatusForbidden, "ClusterRole view would lose a selector"},
		{"the label of a source of view", "the API server gives it back, with the rules that the source got meanwhile", func(ctx context.Context, dryRun []string) error {
			_, err := w.RbacV1().ClusterRoles().Patch(ctx, "system:aggregate-to-view", types.MergePatchType,
				[]byte(`{"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-view":null}}}`), metav1.PatchOptions{DryRun: dryRun})
			return err
		}, http.StatusForbidden, "ClusterRole system:aggregate-to-view would be without the label"},
		{"an eviction", "the status still allows one: the API server alone would evict", evict("web-b"), http.StatusTooManyRequests, "disruption budget"},
		{"a budget that allows no disruption", "no node with one of its pods could be drained", changeBudget(0), http.StatusForbidden, "never allows a disruption"},
	} {
		refused := func(err error) error {
			var status apierrors.APIStatus
			if !errors.As(err, &status) || status.Status().Code != tc.code || !strings.Contains(status.Status().Message, tc.message) ||
				!strings.Contains(status.Status().Message, `.purekube.example.com" denied the request`) {
				return fmt.Errorf("%s is not refused, although %s: %v", tc.name, tc.reason, err)
			}
			return nil
		}
		// The webhook learns of objects by watching.
		eventually(t, patience, "a dry run is refused", func(ctx context.Context) error { return refused(tc.write(ctx, all)) })
		require.NoError(t, refused(tc.write(t.Context(), nil)))
	}
	require.True(t, apierrors.IsTooManyRequests(evict("web-b")(t.Context(), nil)), "kubectl drain tries again by this reason")
	_, err := w.CoreV1().Pods(ns).Get(t.Context(), "web-b", metav1.GetOptions{})
	require.NoError(t, err)
	_, err = w.NetworkingV1().ServiceCIDRs().Get(t.Context(), "used", metav1.GetOptions{})
	require.NoError(t, err)

	// What is admitted: a dry run changes nothing, the write does.
	require.NoError(t, deleteCIDR("free")(t.Context(), all))
	free, err := w.NetworkingV1().ServiceCIDRs().Get(t.Context(), "free", metav1.GetOptions{})
	require.NoError(t, err)
	require.Nil(t, free.DeletionTimestamp)
	require.NoError(t, deleteCIDR("free")(t.Context(), nil))
	free, err = w.NetworkingV1().ServiceCIDRs().Get(t.Context(), "free", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotNil(t, free.DeletionTimestamp)
	require.NoError(t, createRole("team-pods", core("pods"))(t.Context(), nil))
	require.NoError(t, changeBudget(2)(t.Context(), nil))
	for _, name := range []string{"free", "team-pods"} {
		eventually(t, patience, "the webhook was asked", hook.answered("name="+name, "allowed=true"))
	}
	eventually(t, patience, "a budget was asked about", hook.answered("resource=poddisruptionbudgets", "allowed=true"))

	// Without -refuse-budgets the writer of such a budget is warned.
	hook.stop(t)
	hook.start(t)
	said := &warnings{}
	config := w.Config(cluster.Admin)
	config.WarningHandler = said
	writer, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	_, err = writer.PolicyV1().PodDisruptionBudgets(ns).Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"maxUnavailable":0}}`), metav1.PatchOptions{DryRun: all})
	require.NoError(t, err)
	require.Contains(t, said.String(), "PodDisruptionBudget shop/web never allows a disruption")
	hook.stop(t)
}

// webhook is examples/webhook as a process, set up as docs/webhook.md has it.
type webhook struct {
	*cluster.Process
	health, log string
	args        []string
}

// newWebhook makes the rights of the webhook and tells the API server of it. It does not run yet.
func (w *world) newWebhook(t *testing.T) *webhook {
	t.Helper()
	ports, err := cluster.FreePorts(2)
	require.NoError(t, err)
	hook := &webhook{health: fmt.Sprintf("127.0.0.1:%d", ports[1]), log: w.log("webhook")}
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	certificate, key := certificateFor(t, net.IPv4(127, 0, 0, 1))
	var token, protected string

	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "webhook.md"))
	require.NoError(t, err)
	for _, block := range strings.Split(string(page), "```yaml\n")[1:] {
		text, _, closed := strings.Cut(block, "```")
		require.True(t, closed)
		if !strings.Contains(text, "kind:") {
			protected = text
			continue
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(text), nil, nil)
		require.NoError(t, err)
		switch o := object.(type) {
		case *rbacv1.ClusterRole:
			token = w.serviceAccountWith(t, "webhook", o)
		case *admissionregistrationv1.ValidatingWebhookConfiguration:
			for i := range o.Webhooks {
				o.Webhooks[i].ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://" + address + "/validate"), CABundle: certificate}
				o.Webhooks[i].FailurePolicy = ptr.To(admissionregistrationv1.Fail) // nothing passes without it
			}
			_, err := w.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), o, metav1.CreateOptions{})
			require.NoError(t, err)
		default:
			t.Fatalf("docs/webhook.md has a %T", o)
		}
	}
	files := t.TempDir()
	for name, content := range map[string][]byte{"tls.crt": certificate, "tls.key": key, "protected.yaml": []byte(protected)} {
		require.NotEmpty(t, content, name)
		require.NoError(t, os.WriteFile(filepath.Join(files, name), content, 0o600))
	}
	kubeconfig, err := w.KubeconfigWith("webhook", token, w.Endpoint())
	require.NoError(t, err)
	hook.args = []string{
		"-kubeconfig=" + kubeconfig, fmt.Sprintf("-port=%d", ports[0]), "-health-address=" + hook.health,
		"-certs=" + files, "-protect=" + filepath.Join(files, "protected.yaml"),
	}
	return hook
}

// start runs the webhook, and returns when it has listed all objects.
func (h *webhook) start(t *testing.T, flags ...string) {
	t.Helper()
	binary, err := build("webhook")
	require.NoError(t, err)
	h.Process, err = cluster.StartProcess(h.log, binary, append(slices.Clone(h.args), flags...)...)
	require.NoError(t, err)
	eventually(t, patience, "the webhook is ready", func(context.Context) error {
		for _, page := range []string{"/healthz", "/readyz"} {
			answer, err := pages.Get("http://" + h.health + page)
			if err != nil {
				return err
			}
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				return fmt.Errorf("%s: %s", page, answer.Status)
			}
		}
		return nil
	})
}

// stop ends the webhook, and holds that it does so in good order.
func (h *webhook) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, h.Stop())
	checkLog(t, h.log)
}

// answered holds that the webhook's log has a line with all these parts: a review that it answered.
func (h *webhook) answered(parts ...string) func(context.Context) error {
	return func(context.Context) error {
		content, err := os.ReadFile(h.log)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(content)) {
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				return nil
			}
		}
		return fmt.Errorf("no review with %q in %s", parts, h.log)
	}
}

// serviceAccountWith makes a service account with the rights of the role, and returns a token of it.
func (w *world) serviceAccountWith(t *testing.T, name string, role *rbacv1.ClusterRole) (token string) {
	t.Helper()
	const ns = metav1.NamespaceDefault
	_, err := w.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = w.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: name}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	accounts := w.CoreV1().ServiceAccounts(ns)
	_, err = accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	request, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	return request.Status.Token
}

// certificateFor is a certificate that signs itself, and its key, as PEM.
func certificateFor(t *testing.T, address net.IP) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{address}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

// warnings collects what the API server warns of.
type warnings struct {
	mu   sync.Mutex
	text string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text += text + "\n"
}

func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text
}
