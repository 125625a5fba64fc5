package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/manifests"
)

// onCluster runs the program with a kubeconfig of the server. Only GET requests reach it.
func onCluster(t *testing.T, server http.Handler, args ...string) outcome {
	t.Helper()
	readOnly := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		server.ServeHTTP(w, r)
	})
	api := httptest.NewServer(readOnly)
	defer api.Close()
	useCluster(t, api.URL)
	var stdout, stderr bytes.Buffer
	status := run(args, system{stdout: &stdout, stderr: &stderr, now: noonClock, settle: time.Millisecond, files: os.DirFS("/nonexistent")})
	anonymous := strings.NewReplacer(api.URL, "URL", strings.TrimPrefix(api.URL, "http://"), "HOST")
	return outcome{anonymous.Replace(stdout.String()), anonymous.Replace(stderr.String()), status}
}

// useCluster names the server in a kubeconfig.
func useCluster(t *testing.T, url string) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(config, []byte(fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here}}, {name: elsewhere, context: {cluster: here}}]
clusters: [{name: here, cluster: {server: %q}}]
`, url)), 0o600))
	t.Setenv("KUBECONFIG", config)
}

// fleetServer has the objects of the fleet in testdata.
func fleetServer(t *testing.T) *apiserver.Handler {
	t.Helper()
	set, err := manifests.Load(manifests.Options{}, fleetFile)
	require.NoError(t, err)
	server := apiserver.New()
	put := func(o apiserver.Object) {
		o = o.DeepCopyObject().(apiserver.Object)
		o.SetUID("") // of the server
		server.Put(o)
	}
	for _, n := range set.Nodes {
		put(n)
	}
	for _, p := range set.Pods {
		server.Put(p)
	}
	for _, b := range set.Budgets {
		server.Put(b)
	}
	for _, d := range set.Deployments {
		server.Put(d)
	}
	for _, r := range set.ReplicaSets {
		server.Put(r)
	}
	for _, s := range set.StatefulSets {
		server.Put(s)
	}
	return &apiserver.Handler{Server: server}
}

const firstLine = "The cluster of context here, at URL\n"

// The answer about a cluster is the answer about its dump.
func TestLiveIsTheDump(t *testing.T) {
	for _, args := range []string{"drain all", "drain --waves --max 2 --rounds 2", "plan --core disruption --explain", "drain east-1"} {
		t.Run(args, func(t *testing.T) {
			got := onCluster(t, fleetServer(t), strings.Fields(args)...)
			require.Empty(t, got.stderr)
			want := plan(t, nil, "", append(strings.Fields(args), "-f", fleetFile)...)
			require.Equal(t, want.status, got.status)
			require.Equal(t, firstLine+want.stdout, got.stdout)
		})
	}
}

// allow answers lists of the resource with the error.
func allow(resource string, err error) func(purekube.Request) error {
	return func(r purekube.Request) error {
		if r.Resource.Resource == resource {
			return err
		}
		return nil
	}
}

// What the account may not list, and what the API server does not serve, is named, and what rests on it is not answered.
func TestLiveNamesWhatItCannotList(t *testing.T) {
	budgets := schema.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}
	forbidden := apierrors.NewForbidden(budgets, "", errors.New("user jane cannot list it"))
	for _, tc := range []struct {
		name, args, resource string
		err                  error
		want, answered       string
	}{
		{"budgets of a drain", "drain all", "poddisruptionbudgets", forbidden,
			"no right to list poddisruptionbudgets in the whole cluster: ", ""},
		{"pods of a drain", "drain all", "pods", apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no")),
			"no right to list pods in the whole cluster: ", ""},
		{"nodes of a plan", "plan", "nodes", apierrors.NewForbidden(corev1.Resource("nodes"), "", errors.New("no")),
			"no right to list nodes in the whole cluster: ", "disruption: "},
		{"budgets of a plan", "plan", "poddisruptionbudgets", forbidden, "no right to list poddisruptionbudgets in the whole cluster: ", ""},
		{"a kind that is not served", "plan", "resourceclaims",
			apierrors.NewNotFound(schema.GroupResource{Resource: "resourceclaims"}, ""),
			"the API server does not serve resourceclaims of resource.k8s.io/v1\n", "disruption: "},
		{"budgets in a namespace", "plan -n shop --core disruption", "poddisruptionbudgets", forbidden,
			"no right to list poddisruptionbudgets in namespace shop: ", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := fleetServer(t)
			server.Allow = allow(tc.resource, tc.err)
			got := onCluster(t, server, strings.Fields(tc.args)...)
			require.Equal(t, exitInput, got.status)
			require.Contains(t, got.stderr, "purekube: "+tc.want)
			require.Contains(t, got.stdout, tc.answered)
			if strings.HasPrefix(tc.args, "drain") {
				require.Contains(t, got.stderr, "drain: not answered: ")
				require.Equal(t, firstLine, got.stdout)
			}
		})
	}
}

// A kind of which nothing could be listed is unknown, and not empty.
func TestLiveDoesNotTakeADeniedKindForEmpty(t *testing.T) {
	set, err := manifests.Load(manifests.Options{Stdin: strings.NewReader(`
---
{apiVersion: v1, kind: Node, metadata: {name: w1}}
---
{apiVersion: v1, kind: Pod, metadata: {namespace: ml, name: a-0, uid: pod, labels: {app: a}, ownerReferences: [{apiVersion: apps/v1,
  kind: StatefulSet, name: a, uid: set, controller: true}]}, spec: {nodeName: w1, resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]},
  status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {namespace: ml, name: a, uid: set}, spec: {replicas: 1, selector: {matchLabels: {app: a}}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {namespace: ml, name: a}, spec: {maxUnavailable: 1, selector: {matchLabels: {app: a}}}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {namespace: ml, name: one, uid: template}, spec: {spec: {}}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {namespace: ml, name: a-0-gpu-x, uid: claim, annotations:
  {resource.kubernetes.io/pod-claim-name: gpu}, ownerReferences: [{apiVersion: v1, kind: Pod, name: a-0, uid: pod, controller: true}]}, spec: {}}`)}, "-")
	require.NoError(t, err)
	server := apiserver.New()
	for _, o := range set.Objects() {
		server.Put(o)
	}
	const claims, disruption, drain = "resourceclaim: not answered: ", "disruption: not answered: ", "drain: not answered: "
	for _, tc := range []struct {
		args, resource string
		// refused is the question that is not answered, and never what an answer from nothing would say.
		refused, never string
	}{
		{"plan --core resourceclaim -o requests", "resourceclaims", claims + "an object that is a ResourceClaim,", `"create"`},
		{"plan --core resourceclaim", "resourceclaimtemplates", claims + "an object that is a ResourceClaimTemplate,", "a-0"},
		{"plan --core resourceclaim", "pods", claims + "an object that is a Pod,", "Release"},
		{"plan", "pods", disruption, "UpdateStatus"},
		{"explain pdb/ml/a", "pods", disruption, "selects no pod"},
		{"explain pod/ml/a-0", "resourceclaims", claims, "CreateClaim"},
		{"drain w1", "nodes", drain + "an object that is a Node,", " now"},
		{"drain w1", "pods", drain, " now"},
		{"drain w1", "poddisruptionbudgets", drain, " now"},
		{"drain w1", "statefulsets", drain + "the input has no StatefulSet", " now"},
		{"drain --waves", "nodes", drain, "wave 1"},
		{"report", "nodes", "drains: not answered: ", "Nothing stops"},
		{"report", "pods", disruption, "Nothing stops"},
		{"report", "poddisruptionbudgets", "drains: not answered: ", "Nothing stops"},
	} {
		for name, err := range map[string]error{
			"no right":   apierrors.NewForbidden(schema.GroupResource{Resource: tc.resource}, "", errors.New("no")),
			"not served": apierrors.NewNotFound(schema.GroupResource{Resource: tc.resource}, ""),
		} {
			t.Run(tc.args+" without "+tc.resource+"/"+name, func(t *testing.T) {
				got := onCluster(t, &apiserver.Handler{Server: server, Allow: allow(tc.resource, err)}, strings.Fields(tc.args)...)
				require.Contains(t, got.stderr, tc.refused)
				require.NotContains(t, got.stdout, tc.never)
				require.Equal(t, exitInput, got.status)
			})
		}
	}
	got := onCluster(t, &apiserver.Handler{Server: server, Allow: allow("resourceclaims", apierrors.NewNotFound(schema.GroupResource{}, ""))}, "drain", "w1")
	require.Equal(t, exitPlanned, got.status, "drains need no claims")
	forbidden := allow("nodes", apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no")))
	got = onCluster(t, &apiserver.Handler{Server: server, Allow: forbidden}, "drain", "w1", "--none", "nodes")
	require.Contains(t, got.stdout, "No Node in the input: evicted pods are assumed to find a node.", "who asks says so")
	require.Equal(t, exitPlanned, got.status)
}

// An error that is not about one kind is the only answer.
func TestLiveFails(t *testing.T) {
	status := func(code int, text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprint(w, text)
		})
	}
	dies := func(t *testing.T) http.Handler {
		server := manyPods(t, 700)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("continue") != "" {
				panic(http.ErrAbortHandler)
			}
			server.ServeHTTP(w, r)
		})
	}
	expires := func(t *testing.T) http.Handler {
		server := manyPods(t, 700)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			server.Expire()
			server.ServeHTTP(w, r)
		})
	}
	changes := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("continue") == "" {
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"1","continue":"x"},"items":[]}`)
		} else {
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"2"},"items":[]}`)
		}
	})
	for _, tc := range []struct {
		name, want string
		server     http.Handler
	}{
		{"a list that changes between two pages", "list of pods: the list changed between two pages", changes},
		{"a token that expired", "list of pods: Unauthorized",
			status(http.StatusUnauthorized, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}`)},
		{"a server that dies in the middle of a list", "list of pods: ", dies(t)},
		{"a list that expires again and again", "list of pods: ", expires(t)},
		{"an answer without a kind", "list of pods: the answer is not a list of the kind", status(http.StatusOK, `{}`)},
		{"another list", "list of pods: the answer is not a list of the kind",
			status(http.StatusOK, `{"apiVersion":"v1","kind":"NodeList","metadata":{"resourceVersion":"1"},"items":[]}`)},
		{"a list without items", "list of pods: the answer is not a list of the kind",
			status(http.StatusOK, `{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"1"}}`)},
		{"a list without a resourceVersion", "list of pods: the answer is not a list of the kind",
			status(http.StatusOK, `{"apiVersion":"v1","kind":"PodList","metadata":{},"items":[]}`)},
		{"pages without an end", "list of pods: the answer is not a list of the kind",
			status(http.StatusOK, `{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"1","continue":"x"},"items":[]}`)},
		{"the same page again and again", "list of pods: the answer is not a list of the kind",
			status(http.StatusOK, `{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"1","continue":"x"},"items":[{"metadata":{"namespace":"n","name":"p"}}]}`)},
		{"no JSON", "list of pods: ", status(http.StatusOK, `<html>`)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := onCluster(t, tc.server, "drain", "all")
			require.Equal(t, exitInput, got.status)
			require.Equal(t, firstLine, got.stdout)
			require.True(t, strings.HasPrefix(got.stderr, "purekube: "+tc.want), got.stderr)
		})
	}
}

// manyPods has a list of several pages.
func manyPods(t *testing.T, pods int) *apiserver.Handler {
	t.Helper()
	server := apiserver.New()
	for i := range pods {
		server.Put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("pod-", i)},
			Spec: corev1.PodSpec{NodeName: "node"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}})
	}
	return &apiserver.Handler{Server: server}
}

// A list in pages is whole, also if it expires once between two of them, and a server that asks to wait is asked again.
func TestLiveReadsPages(t *testing.T) {
	server := manyPods(t, 1201)
	var expired, busy atomic.Bool
	pages := atomic.Int32{}
	got := onCluster(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/pods" {
			pages.Add(1)
			if r.URL.Query().Get("continue") != "" && !expired.Swap(true) {
				server.Expire()
			} else if !busy.Swap(true) {
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
		}
		server.ServeHTTP(w, r)
	}), "drain", "all", "--force", "-o", "json")
	require.Equal(t, exitPlanned, got.status, got.stderr)
	require.Equal(t, 1201, strings.Count(got.stdout, `"pod-`), "each pod is evicted once")
	require.EqualValues(t, 6, pages.Load(), "one that was busy, one before it expired, and three pages after it, one of which was asked for twice")
}

// A field of the spec of a budget that this build does not know may change what the budget means.
func TestLiveSeesFieldsOfANewerKubernetes(t *testing.T) {
	server := fleetServer(t)
	got := onCluster(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/poddisruptionbudgets") {
			server.ServeHTTP(w, r)
			return
		}
		recorded := httptest.NewRecorder()
		server.ServeHTTP(recorded, r)
		fmt.Fprint(w, strings.Replace(recorded.Body.String(), `"spec":{`, `"spec":{"onlyOnSundays":true,`, 1))
	}), "drain", "all")
	require.Equal(t, exitInput, got.status)
	require.Contains(t, got.stderr, "spec.onlyOnSundays")
	require.Contains(t, got.stderr, "drain: not answered")
}

// A controller of a kind that purekube does not know has a scale.
func TestLiveLooksUpScales(t *testing.T) {
	const rollouts = "/apis/argoproj.io/v1alpha1"
	server := apiserver.New()
	truth := true
	for i := range 2 {
		server.Put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("web-", i), Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: "web", UID: "uid-web", Controller: &truth}}},
			Spec: corev1.PodSpec{NodeName: fmt.Sprint("node-", i)}, Status: corev1.PodStatus{Phase: corev1.PodRunning,
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}})
	}
	budget, err := manifests.Load(manifests.Options{Stdin: strings.NewReader(`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget",
		"metadata":{"namespace":"shop","name":"web"},"spec":{"maxUnavailable":1,"selector":{"matchLabels":{"app":"web"}}}}`)}, "-")
	require.NoError(t, err)
	server.Put(budget.Budgets[0])
	handler := &apiserver.Handler{Server: server}
	for _, tc := range []struct {
		name, scale, want string
		code              int
	}{
		{"a scale", `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"namespace":"shop","name":"web","uid":"uid-web"},"spec":{"replicas":2}}`,
			"1 allowed, 2 healthy, 1 desired, 2 expected", http.StatusOK},
		{"a scale of another object", `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"namespace":"shop","name":"web","uid":"uid-other"},"spec":{"replicas":2}}`,
			"needs the scale of Rollout shop/web", http.StatusOK},
		{"a token that has expired since", `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}`,
			"", http.StatusUnauthorized},
		{"no right to read it", `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"rollouts.argoproj.io is forbidden","reason":"Forbidden","code":403}`,
			"needs the scale of Rollout shop/web", http.StatusForbidden},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := onCluster(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch r.URL.Path {
				case rollouts:
					fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"argoproj.io/v1alpha1","resources":[
						{"name":"rollouts","namespaced":true,"kind":"Rollout","verbs":["get"]},
						{"name":"rollouts/scale","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale","verbs":["get"]}]}`)
				case rollouts + "/namespaces/shop/rollouts/web/scale":
					w.WriteHeader(tc.code)
					fmt.Fprint(w, tc.scale)
				default:
					handler.ServeHTTP(w, r)
				}
			}), "plan", "--core", "disruption", "--explain")
			if tc.code == http.StatusUnauthorized {
				require.Equal(t, outcome{firstLine, "purekube: scale of Rollout: Unauthorized\n", exitInput}, got)
				return
			}
			require.Contains(t, got.stdout, tc.want, got.stderr)
			if tc.code == http.StatusForbidden {
				require.Contains(t, got.stdout, "Note: the scale of Rollout shop/web is not known: ")
			}
		})
	}
}

// Whoever may create pods can name any number of controllers.
func TestLiveScalesAreBounded(t *testing.T) {
	server := apiserver.New()
	truth := true
	for _, ns := range []string{"greedy", "shop"} {
		for i := range map[string]int{"greedy": 5, "shop": 2}[ns] {
			name := fmt.Sprint("web-", i)
			server.Put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: name, UID: types.UID(name), Controller: &truth}}}})
		}
	}
	var scales map[string]int
	hangs := false
	handler := &apiserver.Handler{Server: server}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/apis/argoproj.io/v1alpha1":
			fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"argoproj.io/v1alpha1","resources":[
				{"name":"rollouts","namespaced":true,"kind":"Rollout","verbs":["get"]},
				{"name":"rollouts/scale","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale","verbs":["get"]}]}`)
		case strings.HasSuffix(r.URL.Path, "/scale"):
			scales[strings.Split(r.URL.Path, "/")[5]]++
			if hangs {
				<-r.Context().Done()
				return
			}
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403}`)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	defer api.Close()
	for _, tc := range []struct {
		each, all int
		want      map[string]int
		note      string
		timeout   time.Duration
	}{
		{3, 10, map[string]int{"greedy": 3, "shop": 2}, "only 3 scales of namespace greedy are looked up: the others are not known", 0},
		{10, 4, map[string]int{"greedy": 2, "shop": 2}, "only 4 scales are looked up: the others are not known", 0},
		// What hangs is asked once, and the same is said of the others.
		{10, 10, map[string]int{"greedy": 1}, "the scale of Rollout shop/web-1 is not known: ", 2 * time.Second},
	} {
		l, err := newLiveReader(&rest.Config{Host: api.URL}, "", func(int) {})
		require.NoError(t, err)
		l.config = &rest.Config{Host: api.URL, Timeout: tc.timeout} // of lookups
		l.maxScales, l.maxAllScales, hangs = tc.each, tc.all, tc.timeout > 0
		scales = map[string]int{}
		c, err := l.read(t.Context(), kindsNamed([]string{"Pod"}), manifests.Options{})
		require.NoError(t, err)
		require.Equal(t, tc.want, scales)
		require.True(t, slices.ContainsFunc(c.Notes, func(n manifests.Note) bool { return strings.HasPrefix(n.Text, tc.note) }), c.Notes)
	}
}

// Each kind that a question may rest on has its place in the order.
func TestEachKindIsRead(t *testing.T) {
	require.ElementsMatch(t, manifests.Kinds(), kindsNamed(readOrder))
}

// A workload that grows while it is read lacks pods, and its budget allows less: never more.
func TestLiveWhileAWorkloadGrows(t *testing.T) {
	server := apiserver.New()
	handler := &apiserver.Handler{Server: server}
	grow := func(replicas int) {
		set, err := manifests.Load(manifests.Options{Stdin: strings.NewReader(fmt.Sprintf(`
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: shop, name: web, uid: web}, spec: {replicas: %d,
  selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {namespace: shop, name: web},
  spec: {minAvailable: 50%%, selector: {matchLabels: {app: web}}}}`, replicas))}, "-")
		require.NoError(t, err)
		server.Put(set.ReplicaSets[0])
		server.Put(set.Budgets[0])
		truth := true
		for i := range replicas {
			server.Put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("web-", i), Labels: map[string]string{"app": "web"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: &truth}}},
				Spec: corev1.PodSpec{NodeName: "node"}, Status: corev1.PodStatus{Phase: corev1.PodRunning,
					Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}})
		}
	}
	grow(2)
	lists := 0
	got := onCluster(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lists++; lists == 2 {
			grow(10)
		}
		handler.ServeHTTP(w, r)
	}), "plan", "--core", "disruption", "--explain")
	require.Contains(t, got.stdout, "PodDisruptionBudget shop/web")
	require.Contains(t, got.stdout, "0 allowed, 2 healthy, 5 desired, 10 expected", got.stderr)
}

// A password in the URL of a kubeconfig is not printed.
func TestPasswordIsNotPrinted(t *testing.T) {
	require.Equal(t, "https://jane:xxxxx@host:6443", withoutPassword("https://jane:secret@host:6443"))
	require.Equal(t, "https://host:6443", withoutPassword("https://host:6443"))
}

// Where there is no answer, -o yaml prints none.
func TestNoAnswerIsNoYAML(t *testing.T) {
	for _, format := range []string{"json", "yaml"} {
		got := plan(t, nil, "", "explain", "service/web", "-o", format)
		require.Equal(t, exitInput, got.status)
		require.Empty(t, got.stdout, format)
	}
}

// The flags of kubectl say which cluster is read. They are not for files.
func TestLiveFlags(t *testing.T) {
	got := onCluster(t, fleetServer(t), "drain", "all", "--context", "elsewhere")
	require.True(t, strings.HasPrefix(got.stdout, "The cluster of context elsewhere, at URL\n"), got.stdout)
	got = onCluster(t, fleetServer(t), "lint", "--live")
	require.True(t, strings.HasPrefix(got.stdout, firstLine), got.stdout)
	asked := map[string]bool{}
	onCluster(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "jane", r.Header.Get("Impersonate-User"))
		asked[r.URL.Path] = true
		fleetServer(t).ServeHTTP(w, r)
	}), "plan", "-n", "shop", "--as", "jane")
	require.True(t, asked["/api/v1/namespaces/shop/pods"] && asked["/api/v1/nodes"], asked)
	require.False(t, asked["/api/v1/pods"], asked)
	got = onCluster(t, fleetServer(t), "explain", "pdb/web", "-n", "shop")
	require.Contains(t, got.stdout, "PodDisruptionBudget shop/web", got.stderr)
	for args, want := range map[string]string{
		"drain all --context nowhere":              `purekube: context "nowhere" does not exist` + "\n",
		"drain all --kubeconfig /nonexistent/file": "purekube: stat /nonexistent/file: no such file or directory\n",
		"drain all --demo --context here":          "purekube: --context, --kubeconfig, --namespace, --as and --request-timeout are for a cluster, and not for files\n",
		"plan -f x.yaml -n shop":                   "purekube: --context, --kubeconfig, --namespace, --as and --request-timeout are for a cluster, and not for files\n",
		"lint --live --demo":                       "purekube: --live is the cluster of the current context, without files and --demo\n",
		"lint --live -o sarif":                     "purekube: -o sarif is for files: it names the file of each finding, and objects of a cluster are in none (-o json and -o github name the object)\n",
		"report -n shop":                           "purekube: unknown shorthand flag: 'n' in -n (purekube report --help lists the flags)\n",
		"explain node/east-1 -n shop":              "purekube: --namespace: a node has pods of all namespaces\n",
		"lint":                                     "purekube: lint has nothing to read: name files or directories, pipe manifests into it, or take --live for a cluster (--demo is the cluster embedded in purekube)\n",
	} {
		got := onCluster(t, fleetServer(t), strings.Fields(args)...)
		require.Equal(t, outcome{status: exitInput, stderr: want}, got, args)
	}
	got = onCluster(t, &apiserver.Handler{Server: apiserver.New()}, "plan", "-n", "nowhere")
	require.Contains(t, got.stdout, "Note: no object of these kinds is in namespace nowhere\n")
	got = onCluster(t, fleetServer(t), "plan", "-n", "../pods")
	require.Equal(t, exitInput, got.status)
	require.Contains(t, got.stderr, `purekube: --namespace "../pods": a lowercase RFC 1123 label must consist of`)
	t.Setenv("KUBECONFIG", "/nonexistent/config")
	t.Setenv("HOME", t.TempDir())
	got = plan(t, nil, "", "drain", "all")
	require.Equal(t, outcome{status: exitInput, stderr: "purekube: " + errNoCluster.Error() + "\n"}, got)
}

// The ClusterRole of the page has what the commands list, and nothing else.
func TestRoleOfThePage(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "```yaml\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "```")
	set, err := manifests.Load(manifests.Options{Stdin: strings.NewReader(text)}, "-")
	require.NoError(t, err)
	granted := map[schema.GroupResource]bool{}
	for _, rule := range set.ClusterRoles[0].Rules {
		require.Equal(t, []string{"list"}, rule.Verbs)
		for _, resource := range rule.Resources {
			granted[schema.GroupResource{Group: rule.APIGroups[0], Resource: resource}] = true
		}
	}
	kinds := map[string]schema.GroupKind{}
	for _, kind := range manifests.Kinds() {
		of := resourceOf(kind)
		kinds["/apis/"+of.GroupVersion().String()+"/"+of.Resource] = kind
		kinds["/api/"+of.GroupVersion().String()+"/"+of.Resource] = kind // of the core group
	}
	listed := map[schema.GroupResource]bool{}
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, known := kinds[r.URL.Path]
		of := resourceOf(kind)
		if !known || !granted[of.GroupResource()] {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		listed[of.GroupResource()] = true
		fmt.Fprintf(w, `{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"1"},"items":[]}`, of.GroupVersion().String(), kind.Kind+"List")
	})
	for _, args := range []string{"plan", "drain all", "report", "diff", "lint --live", "explain node/east-1"} {
		got := onCluster(t, server, strings.Fields(args)...)
		require.NotContains(t, got.stderr, "no right to", args)
		require.NotContains(t, got.stderr, "list of ", args)
	}
	texts := func(set map[schema.GroupResource]bool) (all []string) {
		for r := range set {
			all = append(all, r.String())
		}
		slices.Sort(all)
		return all
	}
	require.Equal(t, texts(granted), texts(listed))
}

// An object of a cluster is in no file: findings, problems and notes name the object, and no line of a list that nobody sees.
func TestObjectsOfAClusterHaveNoPlace(t *testing.T) {
	const system = `"uid":"u","resourceVersion":"1"`
	items := map[string]string{
		"Node": `{"metadata":{"name":"n",` + system + `},"spec":{"newField":1}}`,
		"PodDisruptionBudget": `{"metadata":{"name":"web","namespace":"shop",` + system + `},"spec":{"maxUnavailable":0,"selector":{"matchLabels":{"app":"web"}}}},
			{"metadata":{"name":"new","namespace":"shop",` + system + `},"spec":{"newField":1}},
			{"metadata":{"name":"wrong","namespace":"shop",` + system + `},"spec":{"selector":{"matchExpressions":[{"key":"a","operator":"Near"}]}}}`,
	}
	server := http.NewServeMux()
	for _, kind := range kindsNamed(readOrder) {
		resource := resourceOf(kind)
		server.HandleFunc("/"+path.Join(map[bool]string{true: "api", false: "apis"}[resource.Group == ""], resource.GroupVersion().String(), resource.Resource),
			func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"1"},"items":[%s]}`,
					kind.Kind, resource.GroupVersion(), items[kind.Kind])
			})
	}
	place := regexp.MustCompile(`\w:\d+|document \d|item \d|file=|"(file|line|document|item)":`)
	for _, output := range []string{"text", "json", "github"} {
		got := onCluster(t, server, "lint", "--live", "-o", output)
		require.Contains(t, got.stdout, "BudgetNeverAllows", output)
		require.Contains(t, got.stdout+got.stderr, "PodDisruptionBudget shop/new", "the problem names its object")
		require.Contains(t, got.stdout+got.stderr, "Note: Node n: spec.newField: ", "the note names its object")
		require.Empty(t, place.FindAllString(got.stdout+got.stderr, -1), "%s: %s%s", output, got.stdout, got.stderr)
	}
	got := onCluster(t, server, "lint", "--live")
	require.Contains(t, got.stdout, "\nerror BudgetNeverAllows: PodDisruptionBudget shop/web: spec.maxUnavailable: is 0: ")
	got = onCluster(t, server, "lint", "--live", "-o", "github")
	require.Contains(t, got.stdout, "\n::error title=BudgetNeverAllows::PodDisruptionBudget shop/web: spec.maxUnavailable: is 0: ")
	got = onCluster(t, server, "plan", "--core", "disruption")
	require.Contains(t, got.stderr, "purekube: PodDisruptionBudget shop/wrong: spec.selector", "an error of a plan")
	require.Empty(t, place.FindAllString(got.stdout+got.stderr, -1), got.stdout+got.stderr)
}
