package clientgo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/servicecidr"
)

// slowAPI is an API server that takes its time for each read, and keeps what is written. It has the kinds Game,
// with a scale, and Note, without one.
type slowAPI struct {
	long time.Duration

	mu     sync.Mutex
	calls  map[string]int // by what is asked for
	writes []string
	at     []time.Duration
	start  time.Time
	// informed is the API server of the informers, which shows what is written.
	informed *fake.Clientset
}

func (a *slowAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	path := strings.TrimPrefix(r.URL.Path, "/apis/")
	var answer any
	what := "other"
	switch {
	case r.Method == http.MethodPatch && strings.HasPrefix(path, "policy/v1/"):
		at := strings.Split(path, "/") // policy/v1/namespaces/NAMESPACE/poddisruptionbudgets/NAME/status
		patch, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		stored, err := a.informed.PolicyV1().PodDisruptionBudgets(at[3]).Get(context.Background(), at[5], metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		b, err := apiserver.Patched(stored, patch)
		if err != nil {
			return nil, err
		}
		b.TypeMeta = kind("policy/v1", "PodDisruptionBudget")
		a.mu.Lock()
		a.writes = append(a.writes, fmt.Sprintf("%s %s %d", b.Name, b.Status.Conditions[0].Reason, b.Status.DisruptionsAllowed))
		a.at = append(a.at, time.Since(a.start))
		b.ResourceVersion = fmt.Sprint(1_000_000 + len(a.writes)) // newer than what was listed
		a.mu.Unlock()
		shown := b.DeepCopy()
		time.AfterFunc(time.Millisecond, func() { // after the answer
			_, _ = a.informed.PolicyV1().PodDisruptionBudgets(shown.Namespace).Update(context.Background(), shown, metav1.UpdateOptions{})
		})
		what, answer = "write", b
	case path == "example.com/v1":
		what = "discovery"
		answer = metav1.APIResourceList{TypeMeta: kind("v1", "APIResourceList"), GroupVersion: path,
			APIResources: slices.Concat(notes, games)}
	case strings.HasSuffix(path, "/scale"):
		what = "scale"
		name := strings.Split(path, "/")[5]
		answer = autoscalingv1.Scale{TypeMeta: kind("autoscaling/v1", "Scale"), ObjectMeta: metav1.ObjectMeta{UID: types.UID(name)}, Spec: autoscalingv1.ScaleSpec{Replicas: 1}}
	}
	a.mu.Lock()
	a.calls[what]++
	a.mu.Unlock()
	if what != "write" {
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(a.long):
		}
	}
	body, err := json.Marshal(answer)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, err
}

// disruption is a controller of budgets for these objects, with the slow API server behind it.
func (a *slowAPI) disruption(t *testing.T, objects ...runtime.Object) (informers.SharedInformerFactory, Runner) {
	t.Helper()
	a.calls, a.start = map[string]int{}, time.Now()
	config := func(qps float32) *rest.Config {
		return &rest.Config{Host: "http://api", Transport: a, QPS: qps, Burst: int(qps)}
	}
	writes, err := NewExecutor(config(50))
	require.NoError(t, err)
	reads, err := NewExecutor(config(100))
	require.NoError(t, err)
	discover, err := discovery.NewDiscoveryClientForConfig(config(100))
	require.NoError(t, err)
	a.informed = fake.NewClientset(objects...)
	f := informers.NewSharedInformerFactory(a.informed, 0)
	r, err := NewDisruption(clusterOf(f, writes, LookupFor(reads, discover)), disruption.Options{})
	require.NoError(t, err)
	return f, r
}

func clusterOf(f informers.SharedInformerFactory, client Client, lookup *Lookup) Cluster {
	return Cluster{
		Informers: FromFactory(f), Client: client, Lookup: lookup, Record: RecordTo(&record.FakeRecorder{}),
	}
}

// cidrClusterOf is a cluster for a controller of ServiceCIDRs, which lists what it confirms with that client.
func cidrClusterOf(lists kubernetes.Interface, f informers.SharedInformerFactory, client Client) Cluster {
	c := clusterOf(f, client, nil)
	c.ServiceCIDRs = ListServiceCIDRs(lists)
	return c
}

// run runs a controller for so long.
func run(t *testing.T, f informers.SharedInformerFactory, r Runner, long time.Duration) {
	t.Helper()
	stop := make(chan struct{})
	f.Start(stop)
	f.WaitForCacheSync(stop)
	synctest.Wait()
	require.True(t, r.HasSynced())
	var running sync.WaitGroup
	ctx := t.Context()
	if _, err := logr.FromContext(ctx); err != nil {
		ctx = logr.NewContext(ctx, logr.Discard())
	}
	running.Go(func() { assert.NoError(t, r.Run(ctx)) })
	time.Sleep(long)
	r.Stop()
	running.Wait()
	close(stop)
	f.Shutdown()
}

// budgetOf is a budget and n pods that it covers, each controlled by an object of that kind with its name.
func budgetOf(name, kind string, n int) []runtime.Object {
	labels := map[string]string{"app": name}
	objects := []runtime.Object{&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name, ResourceVersion: "1"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, MaxUnavailable: ptr.To(intstr.FromInt32(1))},
	}}
	for i := range n {
		of := fmt.Sprintf("%s-%d", name, i)
		objects = append(objects, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: of, Labels: labels, OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "example.com/v1", Kind: kind, Name: of, UID: types.UID(of), Controller: ptr.To(true)}}},
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		})
	}
	return objects
}

// 5,000 pods, each with a custom resource that has a scale, at an API server that takes 200 ms: the status that refuses
// is written at the deadline, another namespace does not wait for long, and the status follows. Each scale is read twice: once
// more after the status that refuses.
func TestBudgetOverThousandsOfScales(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &slowAPI{long: 200 * time.Millisecond}
		f, r := api.disruption(t, append(budgetOf("big", "Game", 5000), budgetOf("small", "Game", 2)...)...)
		run(t, f, r, 5*time.Minute)
		require.Equal(t, []string{"small SufficientPods 1", "big SyncFailed 0", "big SufficientPods 1"}, api.writes)
		require.Less(t, api.at[0], time.Second, "a lookup of each namespace in turn")
		require.InDelta(t, 15, api.at[1].Seconds(), 0.1)
		require.Less(t, api.calls["scale"], 2*5000+2+20)
		require.Less(t, api.calls["discovery"], 15, "once in ten seconds")
		require.Zero(t, api.calls["other"])
	})
}

// The lookups take 40 seconds, and all pods stop being ready meanwhile. What is written from then on allows nothing: the
// handlers have shown the pods before the last answer.
func TestPodsThatCrashDuringThousandsOfLookups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &slowAPI{long: 200 * time.Millisecond}
		objects := budgetOf("big", "Game", 2000)
		f, r := api.disruption(t, objects...)
		const crash = 20 * time.Second
		time.AfterFunc(crash, func() {
			for _, o := range objects {
				pod, ok := o.(*corev1.Pod)
				if !ok {
					continue
				}
				pod = pod.DeepCopy()
				pod.ResourceVersion = "2000000"
				pod.Status.Conditions[0].Status = corev1.ConditionFalse
				if _, err := api.informed.CoreV1().Pods(pod.Namespace).Update(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
		run(t, f, r, 70*time.Second)
		for i, w := range api.writes {
			if strings.HasPrefix(w, "big") && api.at[i] > crash+time.Second && !strings.HasSuffix(w, " 0") {
				t.Errorf("%v: %s, although all pods crashed at %v", api.at[i], w, crash)
			}
		}
		require.Contains(t, strings.Join(api.writes, "\n"), "big", "the status is written")
	})
}

// The API server is asked once about a kind without a scale, however many of its objects control pods.
func TestKindWithoutAScaleIsAskedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &slowAPI{long: 200 * time.Millisecond}
		f, r := api.disruption(t, budgetOf("notes", "Note", 5000)...)
		run(t, f, r, 10*time.Second)
		require.Equal(t, []string{"notes SyncFailed 0"}, api.writes)
		require.Equal(t, map[string]int{"discovery": 1, "write": 1}, api.calls)
	})
}

// A CIDR that does not parse does not get better by planning again. An event brings the object back.
func TestBadServiceCIDRIsNotPlannedAgain(t *testing.T) {
	plans, retries := 0, 0
	synctest.Test(t, func(t *testing.T) {
		bad := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "bad", ResourceVersion: "1"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.0.0.0/33"}}}
		f := informers.NewSharedInformerFactory(fake.NewClientset(bad), 0)
		c := clusterOf(f, DryRun{}, nil)
		c.ServiceCIDRs = ListServiceCIDRs(nil) // nothing is to be confirmed
		c.Hooks.OnPlan = func(p PlanResult) {
			plans++
			assert.Error(t, p.Err)
		}
		c.Hooks.OnRetry = func(Retry) { retries++ }
		r, err := NewServiceCIDR(c, servicecidr.Options{})
		require.NoError(t, err)
		run(t, f, r, time.Hour)
	})
	require.Equal(t, 1, plans)
	require.Zero(t, retries)
}
