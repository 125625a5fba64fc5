package clientgo

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/badinput"
	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

var update = flag.Bool("update", false, "write the table of internal/test/badinput/README.md")

// nobody is an API server that has nothing and takes nothing. A request that reaches it is about one path.
type nobody struct {
	t  *testing.T
	mu sync.Mutex
	// reached are the kinds of requests that came.
	reached map[string]bool
}

func (n *nobody) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r.Method == http.MethodGet {
		n.reached["lookups"] = true
	} else {
		n.reached["writes"] = true
	}
	assert.Equal(n.t, path.Clean(r.URL.Path), r.URL.Path, "a name that leads somewhere else")
	assert.LessOrEqual(n.t, strings.Count(r.URL.Path, "/"), 8, "%s: a name of several segments", r.URL.Path)
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
	return &http.Response{
		StatusCode: http.StatusNotFound, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// informersOf are informers whose events a test makes, by the type of their objects.
type informersOf map[reflect.Type]*handlers

func (i informersOf) get(object runtime.Object) (Informer, error) {
	h := &handlers{}
	i[reflect.TypeOf(object)] = h
	return h, nil
}

// objectsOf are the objects of a set that an informer can have: it never shows nil.
func objectsOf(set *manifests.Set) (all []manifests.Object) {
	v := reflect.ValueOf(set).Elem()
	for i := range v.NumField() {
		list := v.Field(i)
		if !v.Type().Field(i).IsExported() || list.Kind() != reflect.Slice || list.Type().Elem().Kind() != reflect.Pointer {
			continue
		}
		for i := range list.Len() {
			if o, ok := list.Index(i).Interface().(manifests.Object); ok && !list.Index(i).IsNil() {
				all = append(all, o)
			}
		}
	}
	return all
}

// answers are the kinds of what a controller does with the objects of a case, as they come, change and go.
func answers(t *testing.T, name string, c badinput.Case) string {
	n := &nobody{t: t, reached: map[string]bool{}}
	config := &rest.Config{Host: "http://api", Transport: n, QPS: -1}
	exec, err := NewExecutor(config)
	require.NoError(t, err)
	discover, err := discovery.NewDiscoveryClientForConfig(config)
	require.NoError(t, err)
	is := func(kind string) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.reached[kind] = true
	}
	informers := informersOf{}
	runner, err := NewRunner(name, Cluster{
		Informers: informers.get, Client: exec, Lookup: LookupFor(exec, discover), Workers: 1,
		ServiceCIDRs: func(context.Context) (servicecidr.Snapshot, error) { return c.Set.ServiceCIDR(time.Time{}), nil },
		Hooks: Hooks{
			OnPlan: func(p PlanResult) {
				of := new(purekube.ObjectError)
				switch {
				case p.Err == nil:
					is("plans")
				case errors.As(p.Err, &of):
					is("ObjectError")
				default:
					is("error")
				}
			},
			OnAction: func(a ActionResult) {
				if a.Err != nil && strings.Contains(a.Err.Error(), "in the path of a request") {
					is("not sent")
				}
			},
		},
	}, PackageOptions{})
	require.NoError(t, err)
	objects := objectsOf(c.Set)
	each := func(do func(*handlers, manifests.Object)) {
		for _, o := range objects {
			if h := informers[reflect.TypeOf(o)]; h != nil {
				do(h, o)
				synctest.Wait() // so that the plans between two events are the same each time
			}
		}
	}
	each(func(h *handlers, o manifests.Object) { h.OnAdd(o, true) })
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, runner.Run(logr.NewContext(t.Context(), logr.Discard()))) })
	time.Sleep(time.Minute)
	each(func(h *handlers, o manifests.Object) {
		after := o.DeepCopyObject().(manifests.Object)
		after.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
		h.OnUpdate(o, after)
	})
	time.Sleep(time.Minute)
	each(func(h *handlers, o manifests.Object) { h.OnDelete(cache.DeletedFinalStateUnknown{Obj: o}) })
	time.Sleep(time.Minute)
	runner.Stop()
	running.Wait()
	return strings.Join(slices.Sorted(maps.Keys(n.reached)), ", ")
}

// The controllers with the corpus of bad input: no panic, no request that a name leads astray, and errors that name
// their object. The table is in internal/test/badinput/README.md.
func TestBadInput(t *testing.T) {
	var table strings.Builder
	table.WriteString("| controller |")
	for _, c := range badinput.Cases(t) {
		fmt.Fprintf(&table, " %s |", c().Name)
	}
	table.WriteString("\n|---|" + strings.Repeat("---|", len(badinput.Cases(t))) + "\n")
	for _, name := range Names() {
		fmt.Fprintf(&table, "| %s |", name)
		for _, c := range badinput.Cases(t) {
			synctest.Test(t, func(t *testing.T) { fmt.Fprintf(&table, " %s |", answers(t, name, c())) })
		}
		table.WriteString("\n")
	}
	badinput.Section(t, "../internal/test/badinput/README.md", "controllers", table.String(), *update)
}

// A mistake of the program is an error that says what is missing, and no panic.
func TestBadArguments(t *testing.T) {
	none := func(runtime.Object) (Informer, error) { return nil, errors.New("no such informer") }
	nothing, blind := Cluster{}, Cluster{Informers: none, Client: DryRun{}, Lookup: &Lookup{}, ServiceCIDRs: ListServiceCIDRs(nil)}
	deaf := Cluster{Informers: none, Client: DryRun{}}
	of := func(_ any, err error) error { return err }
	set := func(config *rest.Config, names ...string) error {
		return New(config, SetOptions{Controllers: names}).Run(t.Context())
	}
	for _, tc := range []struct {
		name, want string
		call       func() error
	}{
		{"New without a configuration", "no configuration", func() error { return set(nil, "ttl") }},
		{"New without controllers", "no controllers to run: there are disruption", func() error { return set(&rest.Config{}) }},
		{"New of an unknown controller", `unknown controller "x"`, func() error { return set(&rest.Config{}, "x") }},
		{"New of a controller twice", "named twice", func() error { return set(&rest.Config{}, "ttl", "ttl") }},
		{"New with PodGroups of no version", "nothing says where to read PodGroups", func() error {
			return New(&rest.Config{}, SetOptions{Controllers: []string{"resourceclaim"}, PackageOptions: PackageOptions{
				ResourceClaim: resourceclaim.Options{PodGroupOf: func(*corev1.Pod) string { return "" }}}}).Run(t.Context())
		}},
		{"an unknown controller", `unknown controller "x"`, func() error { return of(NewRunner("x", blind, PackageOptions{})) }},
		{"servicecidr in no cluster", "no Informers", func() error { return of(NewServiceCIDR(nothing, servicecidr.Options{})) }},
		{"resourceclaim in no cluster", "no Informers", func() error { return of(NewResourceClaim(nothing, resourceclaim.Options{})) }},
		{"ttl in no cluster", "no Informers", func() error { return of(NewTTL(nothing, ttl.Options{})) }},
		{"rbacaggregate in no cluster", "no Informers", func() error { return of(NewRBACAggregate(nothing, rbacaggregate.Options{})) }},
		{"disruption in no cluster", "no Informers", func() error { return of(NewDisruption(nothing, disruption.Options{})) }},
		{"servicecidr, no informer", "no such informer", func() error { return of(NewServiceCIDR(blind, servicecidr.Options{})) }},
		{"resourceclaim, no informer", "no such informer", func() error { return of(NewResourceClaim(blind, resourceclaim.Options{})) }},
		{"ttl, no informer", "no such informer", func() error { return of(NewTTL(blind, ttl.Options{})) }},
		{"rbacaggregate, no informer", "no such informer", func() error { return of(NewRBACAggregate(blind, rbacaggregate.Options{})) }},
		{"disruption, no informer", "no such informer", func() error { return of(NewDisruption(blind, disruption.Options{})) }},
		{"servicecidr without lists", "no ServiceCIDRs", func() error { return of(NewServiceCIDR(deaf, servicecidr.Options{})) }},
		{"resourceclaim without lookups", "no Lookup", func() error { return of(NewResourceClaim(deaf, resourceclaim.Options{})) }},
		{"disruption without lookups", "no Lookup", func() error { return of(NewDisruption(deaf, disruption.Options{})) }},
		{"a webhook without informers", "no Informers", func() error { return of(NewWebhook(nil, fake.NewClientset(), admission.Options{}, webhook.Options{})) }},
		{"a webhook without a client", "no Client", func() error { return of(NewWebhook(none, nil, admission.Options{}, webhook.Options{})) }},
		{"a webhook without an informer", "no such informer", func() error { return of(NewWebhook(none, fake.NewClientset(), admission.Options{}, webhook.Options{})) }},
		{"an Executor for nothing", "no configuration", func() error { return of(NewExecutor(nil)) }},
		{"a Lookup for nothing", "no configuration", func() error { return of(NewLookup(nil)) }},
		{"lists without a client", "no Client", func() error { return of(ListServiceCIDRs(nil)(t.Context())) }},
		{"the rights of an unknown controller", `unknown controller "x"`, func() error { return of(PolicyRules("x")) }},
		{"an empty request", "missing", func() error { return of((&Executor{}).Do(t.Context(), purekube.Request{})) }},
		{"an empty request, dynamic", "missing", func() error { return of(DynamicExecutor{}.Do(t.Context(), purekube.Request{})) }},
		{"an empty lookup", "not a lookup", func() error {
			answer, err := (&Lookup{}).Lookup(t.Context(), purekube.Need{})
			return errors.Join(answer.Err, err)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.NotPanics(t, func() { require.ErrorContains(t, tc.call(), tc.want) })
		})
	}
}

// A factory that nobody started says nothing, so the controller does.
func TestInformersThatWereNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := Cluster{Informers: FromFactory(informers.NewSharedInformerFactory(fake.NewClientset(), 0)), Client: DryRun{}}
		controller, err := NewTTL(cluster, ttl.Options{})
		require.NoError(t, err)
		lines := make(chan string, 8) // written by another goroutine
		log := funcr.New(func(_, line string) { lines <- line }, funcr.Options{})
		ctx, end := context.WithTimeout(logr.NewContext(t.Context(), log), time.Minute)
		defer end()
		require.NoError(t, controller.Run(ctx))
		line := <-lines
		require.Contains(t, line, "have they been started?")
		require.Contains(t, line, `"resources"=["nodes"]`)
		require.Empty(t, lines)
	})
}
