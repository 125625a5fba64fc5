package admission

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/internal/test/reviews"
	"github.com/purekube/purekube/purekubetest"
)

// webPod is a healthy pod within its budget; db-1 is the only healthy pod of its own.
var webPod = purekubetest.Deployment("shop/web", 2).Pods[0].Name

// customPod is a pod of a custom resource, whose scale no Index has unless it is told.
func customPod() *corev1.Pod {
	p := purekubetest.Pod("shop/custom")
	p.Labels = map[string]string{"app": "custom"}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Game", Name: "g", UID: "g", Controller: ptr.To(true)}}
	return p
}

// brokenBudget has a selector that does not compile.
func brokenBudget() *policyv1.PodDisruptionBudget {
	b := purekubetest.MaxUnavailable("shop/broken", "1")
	b.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
	return b
}

func TestServiceCIDRDelete(t *testing.T) {
	twin := purekubetest.ServiceCIDR("twin", "10.96.0.0/24")
	many := make([]purekubetest.Object, 0, 30)
	for _, ip := range strings.Split("1 2 3 4 5 6 9 10 11 12 13", " ") {
		many = append(many, purekubetest.Address("10.96.0."+ip, "shop/many"))
	}
	for _, tc := range []struct {
		name, reason string
		request      reviews.Request
		more         []purekubetest.Object
		code         int32  // 0: it is allowed
		message      string // a part
	}{
		{"in use", "the Services are named", reviews.DeletesCIDR("used", "10.96.0.0/24"), nil,
			conflict, "ServiceCIDR used is the only range of 10.96.0.7 (Service shop/web), 10.96.0.8 (Service shop/db)"},
		{"many addresses", "ten are named", reviews.DeletesCIDR("used", "10.96.0.0/24"), many, conflict, "10.96.0.10 (Service shop/many), and more"},
		{"free", "no address is in it", reviews.DeletesCIDR("free", "10.97.0.0/24"), nil, 0, ""},
		{"a twin", "the other range stays", reviews.DeletesCIDR("used", "10.96.0.0/24"), []purekubetest.Object{twin}, 0, ""},
		{"a twin that is being deleted", "it is no range to rely on", reviews.DeletesCIDR("used", "10.96.0.0/24"),
			[]purekubetest.Object{purekubetest.Deleted(purekubetest.ServiceCIDR("twin", "10.96.0.0/24"), reviews.Noon.Add(-1))}, conflict, "is the only range"},
		{"other ranges in the cache", "the object of the request counts", reviews.DeletesCIDR("free", "10.96.0.0/24"),
			[]purekubetest.Object{purekubetest.ServiceCIDR("used", "10.95.0.0/24")}, conflict, "is the only range"},
		{"a range that does not parse", "whether it is in use cannot be known", reviews.DeletesCIDR("used", "10.96.0.0/33"), nil, conflict, "spec.cidrs[0]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := ServiceCIDRDelete(cluster(t, tc.more...).ServiceCIDRs, tc.request.Review(t))
			requireAnswer(t, tc.reason, a, tc.code, tc.message)
			require.Empty(t, a.Warnings)
		})
	}
}

func TestEviction(t *testing.T) {
	unknownScale := []purekubetest.Object{customPod(), purekubetest.MaxUnavailable("shop/custom", "1")}
	for _, tc := range []struct {
		name, reason string
		pod          string
		more         []purekubetest.Object
		code         int32
		message      string
		unknown      bool   // it cannot be computed: AllowUnknown allows it
		warning      string // then
	}{
		{"within the budget", "both pods are healthy, and the status is not written yet", webPod, nil, 0, "", false, ""},
		{"beyond the budget", "the other pod is not ready", "db-1", nil, tooManyRequests, "disruption budget", false, ""},
		{"a pod that is not ready", "the healthy ones are no fewer than desired", "db-0", nil, 0, "", false, ""},
		{"two budgets", "the API server answers 500", webPod, []purekubetest.Object{also("web")}, internalError, "more than one", false, ""},
		{"a pod that ended", "no budget counts it", "ended", []purekubetest.Object{purekubetest.Ended(purekubetest.Pod("shop/ended"))}, 0, "", false, ""},
		{"a pod that is not there", "the cache may be behind", "nobody", nil, tooManyRequests, "Pod shop/nobody", true, ""},
		{"an unknown scale", "the budget cannot be computed", "custom", unknownScale, tooManyRequests, "Game/scale shop/g", true, "no scale of Game shop/g"},
		{"a broken selector", "it may cover the pod", webPod, []purekubetest.Object{brokenBudget()}, tooManyRequests, "PodDisruptionBudget shop/broken", true, "PodDisruptionBudget shop/broken"},
		{"a broken selector beyond the budget", "it is refused anyway", "db-1", []purekubetest.Object{brokenBudget()}, tooManyRequests, "disruption budget", false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x, r := cluster(t, tc.more...).Disruption, reviews.Evicts(tc.pod).Review(t)
			a := Eviction(x, r, EvictionOptions{})
			requireAnswer(t, tc.reason, a, tc.code, tc.message)
			require.Empty(t, a.Warnings)
			a = Eviction(x, r, EvictionOptions{AllowUnknown: true})
			if !tc.unknown {
				requireAnswer(t, tc.reason, a, tc.code, tc.message)
				return
			}
			require.True(t, a.Allowed)
			if tc.warning == "" {
				require.Empty(t, a.Warnings)
				return
			}
			require.Len(t, a.Warnings, 1)
			require.Contains(t, a.Warnings[0], tc.warning)
			require.LessOrEqual(t, len(a.Warnings[0]), maxWarning)
		})
	}
}

// Whoever may create pods chooses how many scales a budget needs. A few of them are named.
func TestEvictionWithManyUnknownScales(t *testing.T) {
	objects := []purekubetest.Object{purekubetest.MaxUnavailable("shop/custom", "1")}
	for i := range 1000 {
		p := customPod()
		p.Name, p.OwnerReferences[0].Name, p.OwnerReferences[0].UID = fmt.Sprint("custom-", i), fmt.Sprint("g", i), types.UID(fmt.Sprint("g", i))
		objects = append(objects, p)
	}
	a := Eviction(cluster(t, objects...).Disruption, reviews.Evicts("custom-7").Review(t), EvictionOptions{AllowUnknown: true})
	require.True(t, a.Allowed)
	require.Len(t, a.Warnings, maxScales+1)
	require.Equal(t, "budget not recomputed: 990 more scales are not known", a.Warnings[maxScales])
}

// jobsPod is a pod of a Job that the budget of shop/custom selects.
func jobsPod() *corev1.Pod {
	p := customPod()
	p.OwnerReferences[0].APIVersion, p.OwnerReferences[0].Kind = "batch/v1", "Job"
	return p
}

// also is a second budget over the pods of a workload.
func also(app string) *policyv1.PodDisruptionBudget {
	b := purekubetest.MaxUnavailable("shop/"+app, "1")
	b.Name = "also"
	return b
}

func TestBudgetWrite(t *testing.T) {
	deployment := func(uid types.UID) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "new", UID: uid}}
		d.Spec.Template.Labels = map[string]string{"app": "new"}
		return d
	}
	unnamed := purekubetest.MaxUnavailable("shop/web", "0")
	unnamed.Name, unnamed.GenerateName = "", "web-"
	long := purekubetest.MaxUnavailable("shop/"+strings.Repeat("web-", 15)+"x", "0")
	percent := purekubetest.MinAvailable("shop/custom", "50%")
	for _, tc := range []struct {
		name, reason string
		budget       *policyv1.PodDisruptionBudget
		more         []purekubetest.Object
		never        bool
		unknown      string // why it cannot be computed
	}{
		{"never", "its spec alone forbids it", purekubetest.MaxUnavailable("shop/web", "0"), nil, true, ""},
		{"never, no pods yet", "its spec alone forbids it", purekubetest.MaxUnavailable("shop/new", "0"), nil, true, ""},
		{"all pods of the workload", "it forbids it at this scale", purekubetest.MinAvailable("shop/web", "2"), nil, true, ""},
		{"no pods yet", "nobody knows the scale", purekubetest.MinAvailable("shop/new", "2"), nil, false, ""},
		{"it waits for a pod", "one more healthy pod, and it lets one go", purekubetest.MaxUnavailable("shop/db", "1"), nil, false, ""},
		{"a name to be generated", "the spec counts", unnamed, nil, true, ""},
		{"a long name", "the warning is cut", long, nil, true, ""},
		{"never, over pods of a Job", "a Job has no scale, and none would help", purekubetest.MaxUnavailable("shop/custom", "0%"), []purekubetest.Object{jobsPod()}, true, ""},
		{"an unknown scale", "a percentage of it", percent, []purekubetest.Object{customPod()}, false, "Game/scale shop/g"},
		{"a selector that does not compile", "its pods are not known", brokenBudget(), nil, false, "PodDisruptionBudget shop/broken"},
		{"two Deployments of one name", "either may be the one", purekubetest.MinAvailable("shop/new", "2"), []purekubetest.Object{deployment("u-1"), deployment("u-2")}, false, "Deployment shop/new"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x, r := cluster(t, tc.more...).Disruption, reviews.WritesBudget(tc.budget).Review(t)
			a := BudgetWrite(x, r, BudgetOptions{})
			requireAnswer(t, tc.reason, a, 0, "")
			if !tc.never {
				require.Empty(t, a.Warnings)
			} else {
				require.Len(t, a.Warnings, 1)
				require.Contains(t, a.Warnings[0], "never allows a disruption")
				require.LessOrEqual(t, len(a.Warnings[0]), maxWarning)
			}
			strict, lenient := BudgetWrite(x, r, BudgetOptions{Refuse: true}), BudgetWrite(x, r, BudgetOptions{Refuse: true, AllowUnknown: true})
			require.Empty(t, strict.Warnings)
			switch {
			case tc.never:
				requireAnswer(t, tc.reason, strict, forbidden, "never allows a disruption")
				requireAnswer(t, tc.reason, lenient, forbidden, "never allows a disruption")
			case tc.unknown != "":
				requireAnswer(t, tc.reason, strict, forbidden, tc.unknown)
				requireAnswer(t, tc.reason, lenient, 0, "")
			default:
				requireAnswer(t, tc.reason, strict, 0, "")
			}
		})
	}
}

// Helm creates a budget before the pods of its Deployment: the workload counts with its replicas.
func TestBudgetBeforeItsPods(t *testing.T) {
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "new"}}}
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "new", UID: "u-new"}
	deployment := func(replicas int32) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: &replicas, Template: template}}
	}
	replicaSet := func(name string, replicas int32) *appsv1.ReplicaSet {
		r := &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Template: template}}
		r.Name, r.UID = name, types.UID("u-"+name)
		r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "new", UID: "u-new", Controller: ptr.To(true)}}
		return r
	}
	pod := purekubetest.Pod("shop/new-1")
	pod.Labels = template.Labels
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "new-a", UID: "u-new-a", Controller: ptr.To(true)}}
	alone := replicaSet("alone", 1)
	alone.OwnerReferences = nil
	orphaned := pod.DeepCopy()
	orphaned.Name, orphaned.OwnerReferences[0].Name, orphaned.OwnerReferences[0].UID = "alone-1", "alone", "u-alone"
	all, half, most := purekubetest.MinAvailable("shop/new", "2"), purekubetest.MinAvailable("shop/new", "50%"), purekubetest.MinAvailable("shop/new", "51%")
	for _, tc := range []struct {
		name, reason string
		budget       *policyv1.PodDisruptionBudget
		more         []purekubetest.Object
		never        bool
	}{
		{"as many as the Deployment wants", "no pod may ever go", all, []purekubetest.Object{deployment(2)}, true},
		{"fewer than the Deployment wants", "one may go", all, []purekubetest.Object{deployment(3)}, false},
		{"half of two", "one may go", half, []purekubetest.Object{deployment(2)}, false},
		{"more than half of two", "it is rounded up", most, []purekubetest.Object{deployment(2)}, true},
		{"a Deployment scaled to 0", "it may be scaled up", all, []purekubetest.Object{deployment(0)}, false},
		{"a Deployment that is being deleted", "it makes no pods", all, []purekubetest.Object{purekubetest.Deleted(deployment(2), reviews.Noon)}, false},
		{"a Deployment with its ReplicaSet", "the Deployment's replicas count", all, []purekubetest.Object{deployment(3), replicaSet("new-a", 2)}, false},
		{"a Deployment with an old ReplicaSet", "the old one makes no pods", all, []purekubetest.Object{deployment(2), replicaSet("new-a", 0)}, true},
		{"a Deployment with a pod", "the other is still to come", all, []purekubetest.Object{deployment(2), replicaSet("new-a", 2), pod}, true},
		{"a StatefulSet", "as a Deployment", all,
			[]purekubetest.Object{&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](2), Template: template}}}, true},
		{"a ReplicationController", "as a Deployment", all,
			[]purekubetest.Object{&corev1.ReplicationController{ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{Replicas: ptr.To[int32](2), Template: &template}}}, true},
		{"a Deployment beside pods of another workload", "its pods, which may be those of a ReplicaSet that is missing, save no budget", purekubetest.MinAvailable("shop/new", "1"),
			[]purekubetest.Object{deployment(3), orphaned, alone}, true},
		{"a ReplicationController without a template", "it makes no pods", all,
			[]purekubetest.Object{&corev1.ReplicationController{ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{Replicas: ptr.To[int32](2)}}}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := reviews.WritesBudget(tc.budget)
			r.Operation = admissionv1.Create
			a := BudgetWrite(cluster(t, tc.more...).Disruption, r.Review(t), BudgetOptions{})
			requireAnswer(t, tc.reason, a, 0, "")
			require.Equal(t, tc.never, len(a.Warnings) == 1, "%s: %q", tc.reason, a.Warnings)
		})
	}
}

// requireAnswer holds an answer to a code, 0 for an allowed request, and to a part of the message.
func requireAnswer(t *testing.T, reason string, a *admissionv1.AdmissionResponse, code int32, message string) {
	t.Helper()
	require.EqualValues(t, "1", a.UID)
	require.Equal(t, code == 0, a.Allowed, "%s: %s", reason, messageOf(a))
	if a.Allowed {
		require.Nil(t, a.Result)
		return
	}
	require.Equal(t, code, a.Result.Code, messageOf(a))
	require.Equal(t, metav1.StatusFailure, a.Result.Status)
	require.Equal(t, reasonOf(code), a.Result.Reason)
	require.Contains(t, a.Result.Message, message)
}

// What is not asked about has nothing to do with the decisions, in whatever version the rest comes.
func TestDecidePicks(t *testing.T) {
	budget := purekubetest.MaxUnavailable("shop/web", "0")
	status := reviews.WritesBudget(budget)
	status.Subresource = "status"
	deleted := reviews.WritesBudget(budget)
	deleted.Operation = admissionv1.Delete
	creates := reviews.DeletesCIDR("used", "10.96.0.0/24")
	creates.Operation = admissionv1.Create
	exec := reviews.Evicts("db-1")
	exec.Subresource = "exec"
	old := reviews.DeletesCIDR("free", "10.97.0.0/24")
	old.Version = "v1beta1"
	role := reviews.WritesRole(nil, reviews.Role("team", "", podsRule))
	role.Subresource = "status"
	x := cluster(t)
	o := Options{Budgets: BudgetOptions{Refuse: true}, ClusterRoles: ClusterRoleOptions{Allowed: reviews.Protected}}
	for _, tc := range []struct {
		name, reason string
		request      reviews.Request
		code         int32
	}{
		{"a ServiceCIDR", "it is decided", reviews.DeletesCIDR("used", "10.96.0.0/24"), conflict},
		{"an eviction", "it is decided", reviews.Evicts("db-1"), tooManyRequests},
		{"a budget", "it is decided", reviews.WritesBudget(budget), forbidden},
		{"a ClusterRole", "it is decided", reviews.WritesRole(nil, reviews.Role("team", "to-view", secretsRule)), forbidden},
		{"the status of a budget", "no disruption depends on its spec", status, 0},
		{"a budget deleted", "nothing is in the way then", deleted, 0},
		{"a ServiceCIDR created", "it takes no range away", creates, 0},
		{"exec into a pod", "it is no eviction", exec, 0},
		{"another resource", "it has nothing to do with this", reviews.Request{Group: "apps", Resource: "deployments", Operation: admissionv1.Delete}, 0},
		{"a ServiceCIDR of another version", "what it says is not known", old, badRequest},
		{"a subresource of a ClusterRole", "there is none", role, badRequest},
	} {
		t.Run(tc.name, func(t *testing.T) {
			requireAnswer(t, tc.reason, Decide(x, tc.request.Review(t), o), tc.code, "")
		})
	}
}

// An update that leaves the spec as it is makes no budget worse: a refusal would keep the last finalizer of a deleted budget.
func TestBudgetWithTheSameSpec(t *testing.T) {
	never := purekubetest.MaxUnavailable("shop/web", "0")
	never.Finalizers = []string{metav1.FinalizerDeleteDependents}
	worse, released := purekubetest.MaxUnavailable("shop/web", "1"), purekubetest.Deleted(never.DeepCopy(), reviews.Noon)
	released.Finalizers = nil
	x := cluster(t).Disruption
	for _, tc := range []struct {
		name, reason string
		old          any
		code         int32
	}{
		{"the same spec", "nothing is new", never, 0},
		{"another spec", "it let a pod go before", worse, forbidden},
		{"no oldObject", "it is not known what is new", nil, forbidden},
		{"another kind", "it is not known what is new", reviews.Role("web", "", podsRule), forbidden},
	} {
		t.Run(tc.name, func(t *testing.T) {
			request := reviews.WritesBudget(released)
			request.OldObject = tc.old
			a := BudgetWrite(x, request.Review(t), BudgetOptions{Refuse: true})
			requireAnswer(t, tc.reason, a, tc.code, "")
			require.Equal(t, tc.code == 0, len(a.Warnings) == 1, "the writer hears of it")
			request.Operation = admissionv1.Create
			requireAnswer(t, "a create has no oldObject", BudgetWrite(x, request.Review(t), BudgetOptions{Refuse: true}), forbidden, "")
		})
	}
}

func TestEvictionOf(t *testing.T) {
	dry, dryOption, broken := reviews.Evicts("web-1"), reviews.Evicts("web-1"), reviews.Evicts("web-1")
	dry.DryRun = true
	dryOption.Object = &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}}
	broken.Object = nil
	web := types.NamespacedName{Namespace: "shop", Name: "web-1"}
	for _, tc := range []struct {
		name, reason string
		request      reviews.Request
		pod          types.NamespacedName
		dryRun       bool
	}{
		{"an eviction", "the pod has the name of the eviction", reviews.Evicts("web-1"), web, false},
		{"a dry run", "nothing is evicted", dry, web, true},
		{"a dry run of an eviction alone", "its options say so", dryOption, web, true},
		{"no object", "nothing is known", broken, types.NamespacedName{}, false},
		{"a ServiceCIDR", "it is no eviction", reviews.DeletesCIDR("used", "10.96.0.0/24"), types.NamespacedName{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod, dryRun := EvictionOf(tc.request.Review(t))
			require.Equal(t, tc.pod, pod, tc.reason)
			require.Equal(t, tc.dryRun, dryRun, tc.reason)
		})
	}
	pod, _ := EvictionOf(nil)
	require.Zero(t, pod)
}

// An answer depends on lists for writes that can do harm, and for no other request: it is the same without them.
func TestReads(t *testing.T) {
	cidr, role, another := reviews.DeletesCIDR("used", "10.96.0.0/24"), reviews.Role("team", "to-view", podsRule), reviews.Role("team", "to-view", secretsRule)
	creates, status, oldVersion := cidr, cidr, cidr
	creates.Operation, status.Subresource, oldVersion.Version = admissionv1.Create, "status", "v1beta1"
	oldRole := reviews.WritesRole(nil, role)
	oldRole.Version = "v1beta1"
	for _, tc := range []struct {
		name         string
		request      reviews.Request
		o            Options
		cidrs, roles bool
	}{
		{"a deleted ServiceCIDR", cidr, strict, true, false},
		{"a created ServiceCIDR", creates, strict, false, false},
		{"the status of a ServiceCIDR", status, strict, false, false},
		{"a ServiceCIDR of another version", oldVersion, strict, false, false},
		{"a created ClusterRole", reviews.WritesRole(nil, role), strict, false, true},
		{"an updated ClusterRole", reviews.WritesRole(role, another), strict, false, true},
		{"a deleted ClusterRole", reviews.WritesRole(role, nil), strict, false, false},
		{"no protected ClusterRole", reviews.WritesRole(nil, role), Options{}, false, false},
		{"a ClusterRole of another version", oldRole, strict, false, false},
		{"an eviction", reviews.Evicts(webPod), strict, false, false},
		{"a budget", reviews.WritesBudget(purekubetest.MaxUnavailable("shop/web", "1")), strict, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, all := tc.request.Review(t), cluster(t)
			require.Equal(t, tc.cidrs, ReadsServiceCIDRs(r))
			require.Equal(t, tc.roles, ReadsClusterRoles(r, tc.o.ClusterRoles))
			without := Decide(Indexes{Disruption: all.Disruption}, r, tc.o)
			if tc.cidrs || tc.roles {
				require.EqualValues(t, unavailable, without.Result.Code)
			} else {
				require.Equal(t, Decide(all, r, tc.o), without)
			}
		})
	}
	require.False(t, ReadsServiceCIDRs(nil))
	require.False(t, ReadsClusterRoles(nil, strict.ClusterRoles))
}

// A budget's maxUnavailable of another type, and a ServiceCIDR with fields that nobody knows: the type decides what is read.
func TestFieldsOfObjects(t *testing.T) {
	withUnknown := func(o any) map[string]any { return map[string]any{"spec": o, "future": []int{1}} }
	r := reviews.DeletesCIDR("free", "")
	r.OldObject = withUnknown(networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.97.0.0/24"}})
	requireAnswer(t, "unknown fields are passed over", ServiceCIDRDelete(cluster(t).ServiceCIDRs, r.Review(t)), 0, "")
	r = reviews.WritesBudget(purekubetest.Budget("shop/web"))
	r.Object = withUnknown(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromString("0%")), Selector: &metav1.LabelSelector{}})
	requireAnswer(t, "unknown fields are passed over", BudgetWrite(cluster(t).Disruption, r.Review(t), BudgetOptions{Refuse: true}), forbidden, "never")
}
