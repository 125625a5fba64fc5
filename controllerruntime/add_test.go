package controllerruntime

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// played is a manager at an API server in memory.
type played struct {
	manager.Manager
	// ended has what Start returned.
	ended chan error
	// requests are how many there were.
	requests *atomic.Int64
}

func newPlayed(t *testing.T, objects ...apiserver.Object) *played {
	t.Helper()
	return newPlayedWith(t, manager.Options{}, objects...)
}

func newPlayedWith(t *testing.T, o manager.Options, objects ...apiserver.Object) *played {
	t.Helper()
	p := &played{ended: make(chan error, 1), requests: &atomic.Int64{}}
	api := &apiserver.Handler{Server: apiserver.New(objects...), Allow: func(purekube.Request) error { p.requests.Add(1); return nil }}
	listener := httptest.NewServer(api)
	t.Cleanup(listener.CloseClientConnections)
	o.Metrics, o.Logger = server.Options{BindAddress: "0"}, logr.Discard()
	o.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
		groups := meta.NewDefaultRESTMapper(nil) // which client-go has since v0.37 only
		groups.Add(apiserver.PodGroups.GroupVersion().WithKind("PodGroup"), meta.RESTScopeNamespace)
		return meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{groups, testrestmapper.TestOnlyStaticRESTMapper(scheme.Scheme)}}, nil
	}
	var err error
	p.Manager, err = manager.New(&rest.Config{Host: listener.URL, QPS: 1000, Burst: 1000}, o)
	require.NoError(t, err)
	return p
}

// Play runs a manager with these options at an API server that has these objects, until the test ends.
func Play(t *testing.T, o manager.Options, add func(manager.Manager) error, objects ...apiserver.Object) manager.Manager {
	t.Helper()
	p := newPlayedWith(t, o, objects...)
	require.NoError(t, add(p))
	p.start(t)
	return p
}

// start runs the manager until the test ends.
func (p *played) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { p.ended <- p.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-p.ended:
			require.NoError(t, err)
		case <-time.After(30 * time.Second):
			t.Error("the manager does not end")
		}
	})
}

// eventually waits until the objects of a kind are as they should be.
func eventually[L client.ObjectList](t *testing.T, p *played, what string, list L, is func(L) bool) {
	t.Helper()
	require.Eventually(t, func() bool { return p.GetAPIReader().List(t.Context(), list) == nil && is(list) }, 30*time.Second, 10*time.Millisecond, what)
}

// All five controllers on one manager: each does its work.
func TestAllFive(t *testing.T) {
	web, budget := purekubetest.Deployment("shop/web", 2), purekubetest.MaxUnavailable("shop/web", "1")
	cidr := purekubetest.ServiceCIDR("services", "10.96.0.0/24")
	cidr.Finalizers, cidr.Status = nil, networkingv1.ServiceCIDRStatus{}
	view := purekubetest.AggregatedRole("view", "to-view")
	team := purekubetest.ClusterRole("team", rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}})
	team.Labels = map[string]string{"to-view": "true"}
	node := purekubetest.Node("node-1")
	node.Annotations = nil
	pod := purekubetest.Pod("ml/train-0")
	purekubetest.ClaimFor(pod, "gpu")
	pod.Status.ResourceClaimStatuses = nil
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: *pod.Spec.ResourceClaims[0].ResourceClaimTemplateName}}
	objects := []apiserver.Object{budget, cidr, view, team, node, pod, template}
	for _, o := range web.Objects() {
		objects = append(objects, o)
	}
	p := newPlayed(t, objects...)
	require.NoError(t, Add(p, clientgo.SetOptions{Controllers: clientgo.Names()}))
	p.start(t)
	eventually(t, p, "a finalizer", &networkingv1.ServiceCIDRList{}, func(l *networkingv1.ServiceCIDRList) bool { return len(l.Items[0].Finalizers) == 1 })
	eventually(t, p, "a claim", &resourcev1.ResourceClaimList{}, func(l *resourcev1.ResourceClaimList) bool { return len(l.Items) == 1 })
	eventually(t, p, "a TTL", &corev1.NodeList{}, func(l *corev1.NodeList) bool { return l.Items[0].Annotations[ttl.Annotation] == "0" })
	eventually(t, p, "rules", &rbacv1.ClusterRoleList{}, func(l *rbacv1.ClusterRoleList) bool { return len(l.Items[1].Rules) == 1 })
	eventually(t, p, "a status", &policyv1.PodDisruptionBudgetList{}, func(l *policyv1.PodDisruptionBudgetList) bool {
		return l.Items[0].Status.DisruptionsAllowed == 1 && l.Items[0].Status.ExpectedPods == 2
	})
	for _, name := range clientgo.Names() {
		require.Eventually(t, func() bool { return counted(t, name) }, 30*time.Second, 10*time.Millisecond, "metrics of %s", name)
	}
}

// counted reports whether an action of the controller was counted that the API server took.
func counted(t *testing.T, controller string) bool {
	t.Helper()
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.Metric {
			labels := map[string]string{}
			for _, l := range m.Label {
				labels[l.GetName()] = l.GetValue()
			}
			if f.GetName() == "purekube_actions_total" && labels["controller"] == controller && labels["answer"] == "OK" {
				return true
			}
		}
	}
	return false
}

// A PodGroup gets its claim, and its status names it.
func TestPodGroups(t *testing.T) {
	gpus := "gpus"
	group := &apiserver.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "train", UID: "group"}}
	group.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &gpus}}
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: gpus}}
	p := newPlayed(t, group, template)
	sent := make(chan clientgo.ActionResult, 100)
	require.NoError(t, Add(p, clientgo.SetOptions{
		Controllers: []string{"resourceclaim"}, PodGroups: "v1beta1", Hooks: clientgo.Hooks{OnAction: func(r clientgo.ActionResult) { sent <- r }},
		PackageOptions: clientgo.PackageOptions{ResourceClaim: resourceclaim.Options{PodGroupOf: func(p *corev1.Pod) string { return p.Labels["group"] }}},
	}))
	p.start(t)
	for _, want := range []string{"resourceclaims", "podgroups"} {
		select {
		case r := <-sent:
			require.Equal(t, want, r.Request.Resource.Resource)
			require.NoError(t, r.Err)
		case <-time.After(30 * time.Second):
			t.Fatal("nothing is sent")
		}
	}
}

// What a user adds: a filter, a veto, and observers.
func TestHooks(t *testing.T) {
	left, vetoed := purekubetest.ServiceCIDR("left", "10.96.0.0/24"), purekubetest.ServiceCIDR("vetoed", "10.97.0.0/24")
	sent := purekubetest.ServiceCIDR("sent", "10.98.0.0/24")
	for _, c := range []*networkingv1.ServiceCIDR{left, vetoed, sent} {
		c.Finalizers = nil
	}
	p := newPlayed(t, left, vetoed, sent)
	seen := make(chan clientgo.ActionResult, 100)
	require.NoError(t, Add(p, clientgo.SetOptions{Controllers: []string{"servicecidr"}, Workers: 1, Hooks: clientgo.Hooks{
		Filter: func(_ string, key purekube.Key) bool { return key.Name != "left" },
		BeforeSend: func(_ context.Context, s clientgo.Sending) error {
			if s.Key.Name == "vetoed" {
				return errors.New("not today")
			}
			return nil
		},
		OnAction: func(r clientgo.ActionResult) { seen <- r },
	}}))
	p.start(t)
	outcomes := map[string]bool{}
	for len(outcomes) < 2 {
		select {
		case r := <-seen:
			outcomes[r.Key.Name] = r.Vetoed
		case <-time.After(30 * time.Second):
			t.Fatal(outcomes)
		}
	}
	require.Equal(t, map[string]bool{"vetoed": true, "sent": false}, outcomes)
}

// A dry run sends nothing, and takes no Lease.
func TestDryRun(t *testing.T) {
	cidr := purekubetest.ServiceCIDR("services", "10.96.0.0/24")
	cidr.Finalizers = nil
	p := newPlayed(t, cidr)
	planned := make(chan clientgo.PlanResult, 100)
	require.NoError(t, Add(p, clientgo.SetOptions{
		Controllers: []string{"servicecidr"}, DryRun: true, Hooks: clientgo.Hooks{OnPlan: func(r clientgo.PlanResult) { planned <- r }},
	}))
	p.start(t)
	select {
	case r := <-planned:
		require.Positive(t, r.Actions)
	case <-time.After(30 * time.Second):
		t.Fatal("no plan")
	}
	eventually(t, p, "nothing is written", &networkingv1.ServiceCIDRList{}, func(l *networkingv1.ServiceCIDRList) bool { return len(l.Items[0].Finalizers) == 0 })
	require.False(t, runnable{leads: false}.NeedLeaderElection())
}

// Readiness waits for the handlers of the controllers.
func TestReady(t *testing.T) {
	require.ErrorContains(t, ready(func() []string { return []string{"ttl"} })(nil), "ttl: not all objects are listed yet")
	require.NoError(t, ready(func() []string { return nil })(nil))
}

// The manager's cache shows no ServiceCIDR that is in use, and strips addresses of their labels, without which they do not
// count. A ServiceCIDR that is being deleted keeps its finalizer, and one that is not gets it.
func TestWhatTheManagersCacheHides(t *testing.T) {
	used, made := purekubetest.ServiceCIDR("used", "10.97.0.0/24"), purekubetest.ServiceCIDR("made", "10.98.0.0/24")
	used.Finalizers, used.DeletionTimestamp = []string{servicecidr.Finalizer}, ptr.To(metav1.NewTime(time.Now().Add(-time.Hour)))
	made.Finalizers = nil
	strip := func(o any) (any, error) {
		a, err := meta.Accessor(o)
		if err == nil {
			a.SetLabels(nil)
		}
		return o, err
	}
	p := newPlayedWith(t, manager.Options{Cache: cache.Options{
		DefaultTransform: strip,
		ByObject:         map[client.Object]cache.ByObject{&networkingv1.ServiceCIDR{}: {Label: labels.SelectorFromSet(labels.Set{"no": "cidr"})}},
	}}, used, made, purekubetest.Address("10.97.0.7", "shop/web"))
	planned := make(chan clientgo.PlanResult, 100)
	require.NoError(t, Add(p, clientgo.SetOptions{
		Controllers: []string{"servicecidr"}, Hooks: clientgo.Hooks{OnPlan: func(r clientgo.PlanResult) { planned <- r }},
		PackageOptions: clientgo.PackageOptions{ServiceCIDR: servicecidr.Options{GracePeriod: ptr.To(time.Duration(0))}},
	}))
	p.start(t)
	eventually(t, p, "decisions about both", &networkingv1.ServiceCIDRList{}, func(l *networkingv1.ServiceCIDRList) bool {
		return len(l.Items) == 2 && len(l.Items[0].Finalizers) == 1 && len(l.Items[1].Status.Conditions) == 1 && l.Items[1].Status.Conditions[0].Reason == "Terminating"
	})
	require.NotEmpty(t, planned)
}

// A manager that waits for its Lease has made no list and no watch for a controller, and is ready.
func TestStandbyReadsNothing(t *testing.T) {
	p := newPlayed(t)
	added := &adds{Manager: p}
	require.NoError(t, Add(added, clientgo.SetOptions{Controllers: []string{"ttl"}}))
	require.NoError(t, added.check(nil), "a replica that does not lead")
	r, ok := added.r.(manager.LeaderElectionRunnable)
	require.True(t, ok)
	require.True(t, r.NeedLeaderElection(), "so that the informers start when the manager leads")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	require.Zero(t, p.requests.Load(), "before that, nothing is read")
	go func() { ended <- added.r.Start(ctx) }()
	require.Eventually(t, func() bool { return p.requests.Load() >= 2 }, 30*time.Second, time.Millisecond, "a list and a watch")
	cancel()
	require.NoError(t, <-ended)
}

// adds is a manager that notes what is added.
type adds struct {
	manager.Manager
	r     manager.Runnable
	check healthz.Checker
}

func (a *adds) Add(r manager.Runnable) error {
	a.r = r
	return nil
}

func (a *adds) AddReadyzCheck(_ string, check healthz.Checker) error {
	a.check = check
	return nil
}

// What cannot be added is an error that names the controller.
func TestAddErrors(t *testing.T) {
	require.ErrorContains(t, Add(nil, clientgo.SetOptions{Controllers: []string{"ttl"}}), "purekube-ttl: no manager")
	p := newPlayed(t)
	inNone := clientgo.PackageOptions{ResourceClaim: resourceclaim.Options{PodGroupOf: func(*corev1.Pod) string { return "" }}}
	require.ErrorIs(t, Add(p, clientgo.SetOptions{Controllers: []string{"resourceclaim"}, PackageOptions: inNone}), clientgo.ErrPodGroups)
	require.ErrorContains(t, Add(p, clientgo.SetOptions{}), "no controllers to run")
	require.ErrorContains(t, Add(p, clientgo.SetOptions{Controllers: []string{"ttl"}, Lease: &clientgo.Lease{}}), "the manager elects the leader")
}
