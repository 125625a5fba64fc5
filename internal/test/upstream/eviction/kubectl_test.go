package eviction

import (
	"context"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/kubectl/pkg/drain"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	nodedrain "github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/test/samplecluster"
	"github.com/purekube/purekube/internal/test/upstream/parity"
)

// retry is how long kubectl drain waits before it tries a pod again: a round.
const retry = 5 * time.Second

// TestKubectlDrain runs kubectl drain itself, with its own loop and its own delays, against the real
// eviction handler and the real disruption controller. The pods that go between two of its attempts are a
// round.
func TestKubectlDrain(t *testing.T) {
	cases := parity.Settings(t, 5000)
	cases.Count /= 5
	seen := map[string]int{}
	for i := range cases.Numbers() {
		sample := samplecluster.New(cases.Source(i), parity.Epoch)
		flags := nodedrain.Options{IgnoreDaemonSets: true, DeleteEmptyDirData: true, Force: true}
		node := sample.Nodes[0]
		list, errs := kubectl(sample, node, flags)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		ours, _, err := nodedrain.Node(disruption.NewIndex(sample.Snapshot, disruption.Options{MatchUpstream: purekube.V1_36}), node, flags)
		if err != nil {
			t.Fatal(err)
		}
		theirs := drainedByKubectl(t, sample, list.Pods())
		if expiresDuring(sample, theirs) && later(theirs, roundsOf(ours)) {
			seen["stricter: an entry of status.disruptedPods expires while pods go"]++
		} else if diff := cmp.Diff(theirs, roundsOf(ours)); diff != "" {
			t.Fatalf("draining %s (- kubectl drain, + ours):\n%s\nfor\n%s\n%s", node, diff, text(sample), cases.Again(t, i))
		}
		seen[string(ours.Outcome)]++
	}
	t.Log(seen)
	for _, outcome := range []string{"Now", "InRounds", "Never"} {
		if cases.AtLeast(1000) && seen[outcome] < 10 {
			t.Errorf("%s is in %d of %d cases only", outcome, seen[outcome], cases.Count)
		}
	}
}

// kubectlDrain is how kubectl's drain went.
type kubectlDrain struct {
	// Rounds are the pods that went, without rounds in which none did.
	Rounds [][]types.NamespacedName
	// Failed: it ended with an error.
	Failed bool
}

func roundsOf(d nodedrain.Drain) kubectlDrain {
	k := kubectlDrain{Failed: d.Outcome == nodedrain.Never}
	for _, r := range d.Rounds {
		if len(r) > 0 {
			k.Rounds = append(k.Rounds, r)
		}
	}
	return k
}

// expiresDuring reports whether a budget lets go of an entry of its status while kubectl's rounds go on. In package drain
// time passes only when nothing else happens.
func expiresDuring(sample samplecluster.Cluster, theirs kubectlDrain) bool {
	for _, b := range sample.Budgets {
		for _, at := range b.Status.DisruptedPods {
			at := at.Add(disruption.DefaultDeletionTimeout)
			if at.After(parity.Epoch) && !at.After(parity.Epoch.Add(retry/4+time.Duration(len(theirs.Rounds))*retry)) {
				return true
			}
		}
	}
	return false
}

// later reports whether the same pods go in the end, and fewer of ours in the first round that differs.
func later(theirs, ours kubectlDrain) bool {
	all := func(k kubectlDrain) []types.NamespacedName {
		return slices.SortedFunc(slices.Values(slices.Concat(k.Rounds...)), persistent.CompareNames)
	}
	if theirs.Failed != ours.Failed || !slices.Equal(all(theirs), all(ours)) {
		return false
	}
	for i := range min(len(theirs.Rounds), len(ours.Rounds)) {
		if slices.Equal(theirs.Rounds[i], ours.Rounds[i]) {
			continue
		}
		isTheirs := func(pod types.NamespacedName) bool { return slices.Contains(theirs.Rounds[i], pod) }
		return !slices.ContainsFunc(ours.Rounds[i], func(pod types.NamespacedName) bool { return !isTheirs(pod) })
	}
	return false
}

// drainedByKubectl evicts the pods with kubectl's code.
func drainedByKubectl(t *testing.T, sample samplecluster.Cluster, pods []corev1.Pod) (k kubectlDrain) {
	t.Helper()
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return persistent.CompareNames(KeyOf(&a), KeyOf(&b)) })
	play(t, sample, func(c *cluster) {
		// No attempt is to meet the very moment at which an evicted pod counts again.
		time.Sleep(retry / 4)
		api := &drainAPI{cluster: c, turn: make(chan struct{}, 1), began: time.Now(), rounds: map[int][]types.NamespacedName{}}
		for _, p := range pods {
			api.order = append(api.order, KeyOf(&p))
		}
		done := make(chan struct{})
		go api.kubelet(done)
		helper := &drain.Helper{
			Ctx: context.Background(), Client: api.client(), GracePeriodSeconds: -1, Out: io.Discard, ErrOut: io.Discard,
			// Longer than any pod is waited for.
			Timeout: 2 * disruption.DefaultDeletionTimeout, EvictErrorRetryDelay: retry,
		}
		k.Failed = helper.DeleteOrEvictPods(pods) != nil
		close(done)
		for _, n := range slices.Sorted(func(yield func(int) bool) {
			for n := range api.rounds {
				if !yield(n) {
					return
				}
			}
		}) {
			slices.SortFunc(api.rounds[n], persistent.CompareNames)
			k.Rounds = append(k.Rounds, api.rounds[n])
		}
	})
	return k
}

// drainAPI is the API server for kubectl, one call at a time.
type drainAPI struct {
	*cluster
	turn   chan struct{}
	order  []types.NamespacedName
	began  time.Time
	rounds map[int][]types.NamespacedName
}

// The client that kubectl gets. client-go's fake holds a lock while it answers, and evictions take time.
type (
	drainClient struct {
		*fake.Clientset
		api *drainAPI
	}
	drainCore struct {
		coreclient.CoreV1Interface
		api *drainAPI
	}
	drainPods struct {
		coreclient.PodInterface
		api       *drainAPI
		namespace string
	}
	drainPolicy struct {
		policyclient.PolicyV1Interface
		api *drainAPI
	}
	drainEvictions struct {
		policyclient.EvictionInterface
		api *drainAPI
	}
)

func (a *drainAPI) client() kubernetes.Interface {
	c := drainClient{Clientset: fake.NewClientset(), api: a}
	c.Resources = []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: drain.EvictionSubresource, Kind: drain.EvictionKind, Group: "policy", Version: "v1"}}}}
	return c
}

func (c drainClient) CoreV1() coreclient.CoreV1Interface       { return drainCore{api: c.api} }
func (c drainClient) PolicyV1() policyclient.PolicyV1Interface { return drainPolicy{api: c.api} }

func (c drainCore) Pods(namespace string) coreclient.PodInterface {
	return drainPods{api: c.api, namespace: namespace}
}

func (c drainPolicy) Evictions(string) policyclient.EvictionInterface {
	return drainEvictions{api: c.api}
}

func (c drainPods) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Pod, error) {
	c.api.turn <- struct{}{}
	defer func() { <-c.api.turn }()
	if pod := c.api.pods[types.NamespacedName{Namespace: c.namespace, Name: name}]; pod != nil {
		return pod.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
}

func (c drainEvictions) Evict(_ context.Context, eviction *policyv1.Eviction) error {
	return c.api.evictInTurn(KeyOf(eviction))
}

// evictInTurn evicts the pods of a round in the order of their names, whatever order kubectl's goroutines
// run in.
func (a *drainAPI) evictInTurn(key types.NamespacedName) error {
	time.Sleep(time.Duration(slices.Index(a.order, key)) * time.Millisecond)
	a.turn <- struct{}{}
	defer func() { <-a.turn }()
	dead := a.pods[key].DeletionTimestamp != nil && deadNode(a.pods[key])
	switch answer := a.evict(key); answer.Code {
	case 201:
		if dead {
			return nil
		}
		n := int(time.Since(a.began) / retry)
		a.rounds[n] = append(a.rounds[n], key)
		return nil
	case 429:
		return apierrors.NewTooManyRequests(answer.Text, 0)
	default:
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: answer.Code, Message: answer.Text}}
	}
}

// kubelet ends the terminating pods in the middle of each round.
func (a *drainAPI) kubelet(done chan struct{}) {
	next := time.After(retry / 2)
	for {
		select {
		case <-done:
			return
		case <-next:
			a.turn <- struct{}{}
			a.finish()
			<-a.turn
			next = time.After(retry)
		}
	}
}
