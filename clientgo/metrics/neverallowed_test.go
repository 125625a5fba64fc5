package metrics_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/clientgo/fake"
	"github.com/purekube/purekube/clientgo/metrics"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/purekubetest"
)

const (
	gauge    = "purekube_poddisruptionbudget_never_allows_disruption"
	patience = time.Minute
)

// scraped are the budgets of which the gauge says 1. A scrape that fails, for example on a series that is there twice,
// is a failure.
func scraped(t *testing.T, registry prometheus.Gatherer) []string {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	var budgets []string
	for _, f := range families {
		if f.GetName() != gauge {
			continue
		}
		for _, m := range f.GetMetric() {
			require.InDelta(t, 1, m.GetGauge().GetValue(), 0)
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			require.ElementsMatch(t, []string{"namespace", "poddisruptionbudget"}, slices.Collect(maps.Keys(labels)))
			budgets = append(budgets, labels["namespace"]+"/"+labels["poddisruptionbudget"])
		}
	}
	return budgets
}

// newController makes a controller of budgets on a clientset whose caches are full. It returns the function that runs
// it, which returns the function that ends it.
func newController(t *testing.T, clientset *kubefake.Clientset, hooks clientgo.Hooks) (run func() (end func())) {
	t.Helper()
	factory := informers.NewSharedInformerFactory(clientset, 0)
	client := clientgo.DynamicExecutor{Client: fake.NewDynamicClient(clientset)}
	c, err := clientgo.NewDisruption(clientgo.Cluster{
		Informers: clientgo.FromFactory(factory), Client: client, Hooks: hooks,
		Lookup: clientgo.LookupFor(client, clientset.Discovery()),
	}, disruption.Options{})
	require.NoError(t, err)
	// The fakes lose what happens between a list and its watch.
	watches := func() (n int) {
		for _, a := range clientset.Actions() {
			if a.GetVerb() == "watch" {
				n++
			}
		}
		return n
	}
	before := watches()
	factory.Start(t.Context().Done())
	kinds := len(factory.WaitForCacheSync(t.Context().Done()))
	require.Eventually(t, func() bool { return c.HasSynced() && watches() == before+kinds }, patience, time.Millisecond)
	return func() func() {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		return func() {
			cancel()
			require.NoError(t, <-ended)
		}
	}
}

// The gauge has the budgets that never allow a disruption while the controller plans. It has no others: no budget that
// allows none for the moment, and none that was mended or is gone.
func TestNeverAllowed(t *testing.T) {
	web := purekubetest.Deployment("shop/web", 3)
	late := purekubetest.Deployment("shop/late", 3)
	purekubetest.NotReady(late.Pods[0])
	outer := purekubetest.StatefulSet("bank/web", 1)
	objects := slices.Concat(web.Objects(), late.Objects(), outer.Objects())
	named := func(name string, b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
		b.Name = name
		return b
	}
	objects = append(objects,
		named("zero", purekubetest.MaxUnavailable("shop/web", "0")),
		named("all", purekubetest.MinAvailable("shop/web", "100%")),
		named("three", purekubetest.MinAvailable("shop/web", "3")),
		named("one", purekubetest.MaxUnavailable("shop/web", "1")),
		named("not-now", purekubetest.MaxUnavailable("shop/late", "1")),
		named("half-of-one", purekubetest.MinAvailable("bank/web", "50%")))
	clientset := fake.NewClientset(objects...)
	registry := prometheus.NewPedanticRegistry()
	started := make(chan clientgo.Runner)
	hooks, err := metrics.Register(registry, clientgo.Hooks{OnStart: func(c clientgo.Runner) { started <- c }})
	require.NoError(t, err)

	run := newController(t, clientset, hooks)
	require.Empty(t, scraped(t, registry), "the caches are full, and the controller waits for its turn")
	end := run()
	<-started
	all := []string{"bank/half-of-one", "shop/all", "shop/three", "shop/zero"}
	gets := func(want ...string) {
		t.Helper()
		equal := func() bool { return slices.Equal(want, scraped(t, registry)) }
		require.Eventually(t, equal, patience, time.Millisecond, "%v", want)
	}
	gets(all...)
	budgets := clientset.PolicyV1().PodDisruptionBudgets("shop")
	written := func() bool {
		list, err := budgets.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		none := func(b policyv1.PodDisruptionBudget) bool { return len(b.Status.Conditions) == 0 }
		return !slices.ContainsFunc(list.Items, none)
	}
	require.Eventually(t, written, patience, time.Millisecond)
	end()
	require.Empty(t, scraped(t, registry), "the controller has ended")

	// The next controller of this process finds each status right: it plans none of the budgets.
	run = newController(t, clientset, hooks)
	end = run()
	<-started
	gets(all...)

	require.NoError(t, budgets.Delete(t.Context(), "all", metav1.DeleteOptions{}))
	gets("bank/half-of-one", "shop/three", "shop/zero")
	zero, err := budgets.Get(t.Context(), "zero", metav1.GetOptions{})
	require.NoError(t, err)
	zero.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(1))
	_, err = budgets.Update(t.Context(), zero, metav1.UpdateOptions{})
	require.NoError(t, err)
	gets("bank/half-of-one", "shop/three")
	// minAvailable as a number: no plan of the budget reads the scale.
	deployments := clientset.AppsV1().Deployments("shop")
	deployment, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	deployment.Spec.Replicas = ptr.To(int32(4))
	_, err = deployments.Update(t.Context(), deployment, metav1.UpdateOptions{})
	require.NoError(t, err)
	gets("bank/half-of-one")

	// Another controller of the same budgets: each series is there once.
	run = newController(t, clientset, hooks)
	endOther := run()
	<-started
	require.Equal(t, []string{"bank/half-of-one"}, scraped(t, registry))
	end()
	require.Equal(t, []string{"bank/half-of-one"}, scraped(t, registry))
	endOther()
	require.Empty(t, scraped(t, registry))
}

// Of two replicas, the one that leads has the series.
func TestNeverAllowedOfTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiserver.New(purekubetest.MaxUnavailable("shop/db", "0"))
		server.Now = time.Now()
		way, stop := apiserver.Serve(&apiserver.Handler{Server: server})
		defer stop()
		type replica struct {
			*clientgo.Set
			*prometheus.Registry
			ended chan error
		}
		runReplica := func() replica {
			r := replica{Registry: prometheus.NewPedanticRegistry(), ended: make(chan error, 1)}
			hooks, err := metrics.Register(r.Registry, clientgo.Hooks{})
			require.NoError(t, err)
			config := &rest.Config{Host: "http://api", Transport: way}
			config.ContentType = runtime.ContentTypeJSON
			r.Set = clientgo.New(config, clientgo.SetOptions{
				Controllers: []string{"disruption"}, Hooks: hooks,
				Lease: &clientgo.Lease{Namespace: "ns", Name: "lease"},
			})
			go func() { r.ended <- r.Run(context.Background()) }()
			return r
		}
		first := runReplica()
		time.Sleep(time.Minute)
		second := runReplica()
		time.Sleep(time.Minute)
		require.Equal(t, []string{"shop/db"}, scraped(t, first))
		require.Empty(t, scraped(t, second), "it waits for the Lease")
		first.Stop()
		require.NoError(t, <-first.ended)
		require.Empty(t, scraped(t, first), "it does not lead any more")
		time.Sleep(time.Minute)
		require.Equal(t, []string{"shop/db"}, scraped(t, second))
		second.Stop()
		require.NoError(t, <-second.ended)
		require.Empty(t, scraped(t, second))
	})
}
