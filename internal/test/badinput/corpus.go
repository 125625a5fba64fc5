// Package badinput is a corpus of input that no cluster should have: malformed, huge, cyclic and hostile. Its tests put
// the corpus to every exported function of the library, and write what each answers into README.md.
package badinput

import (
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/internal/test/reviews"
	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/purekubetest"
)

// Case is one kind of bad input: a cluster's objects, and the values that arguments of simple types have.
type Case struct {
	Name, Reason string
	Set          *manifests.Set
	Strings      []string
	Ints         []int64
	Times        []time.Time
}

var (
	noon      = reviews.Noon
	farFuture = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	beyond    = time.Unix(math.MaxInt64/2, 0)
	longAgo   = time.Unix(math.MinInt64/2, 0)
)

// Hostile are texts that names, labels and values have where somebody chose them with intent.
var Hostile = []string{
	"../../../../api/v1/namespaces/kube-system/secrets", "a\x1b[2J\x1b]0;x\x07", "\xff\xfe", "a\x00b", "\u202etxt.exe",
	"%s%n", "<script>x</script>", "$(id)", "a/b/c/d",
	strings.Repeat("n", 1<<16), " ", "-", "🙂", "9223372036854775808%", "\n---\n",
}

// Cases are the corpus. Each call of one makes new objects.
func Cases(t testing.TB) []func() Case {
	words := []string{"", "shop", "db", "db-0", "web", "view", "used", "node-1", "10.96.0.7",
		"PodDisruptionBudget/shop/db"}
	numbers := []int64{0, 1, -1}
	times := []time.Time{noon, {}}
	cases := []func() Case{
		func() Case {
			return Case{Name: "empty", Reason: "no object, and the zero value of every argument", Set: &manifests.Set{},
				Strings: []string{""}, Ints: []int64{0}, Times: []time.Time{{}}}
		},
		func() Case {
			return Case{Name: "nil", Reason: "nil pointers and objects without a name beside good ones", Set: withNils(good(t))}
		},
		func() Case {
			return Case{Name: "twice", Reason: "each object twice, the second with other labels", Set: twice(good(t))}
		},
		func() Case {
			return Case{Name: "malformed", Reason: "each text of spec, status and labels is no value of its field",
				Set: rewritten(good(t), []string{"?/!", "-7%", "10.96.0.0/33"}, []int64{-1, -100}, nil, false)}
		},
		func() Case {
			return Case{Name: "extreme", Reason: "the largest and smallest numbers, and times far away",
				Set: rewritten(good(t), nil,
					[]int64{math.MaxInt64, math.MinInt64, math.MaxInt32, math.MinInt32}, []time.Time{{}, farFuture}, false),
				Ints:  []int64{math.MaxInt64, math.MinInt64, math.MaxInt32, math.MinInt32},
				Times: []time.Time{farFuture, beyond, longAgo}}
		},
		func() Case {
			return Case{Name: "cyclic", Reason: "owners, aggregation and claims that refer to each other in a circle",
				Set: cyclic(t)}
		},
		func() Case {
			return Case{Name: "hostile",
				Reason: "names and values with control characters, broken UTF-8, path segments, and 64 KiB",
				Set:    rewritten(good(t), Hostile, nil, nil, true), Strings: Hostile}
		},
		func() Case {
			return Case{Name: "huge",
				Reason: "lists of 200 entries in one object, and 200 pods that all select each other; PUREKUBE_HUGE is another " +
					"number", Set: huge(t)}
		},
	}
	for i, make := range cases {
		cases[i] = func() Case {
			c := make()
			if c.Strings == nil {
				c.Strings = words
			}
			if c.Ints == nil {
				c.Ints = numbers
			}
			if c.Times == nil {
				c.Times = times
			}
			return c
		}
	}
	return cases
}

// Each runs check on each case of the corpus.
func Each(t *testing.T, check func(t *testing.T, c Case)) {
	for _, of := range Cases(t) {
		c := of()
		t.Run(c.Name, func(t *testing.T) { check(t, c) })
	}
}

// good is a cluster with an object of each kind.
func good(t testing.TB) *manifests.Set {
	t.Helper()
	set := &manifests.Set{Complete: true}
	objects := reviews.Cluster()
	claimed := purekubetest.Pod("shop/claimed")
	objects = append(objects, purekubetest.Node("node-1"), purekubetest.ClaimFor(claimed, "gpu"), claimed,
		purekubetest.MinAvailable("shop/percent", "50%"),
		&resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "gpu", UID: "template"}},
		&corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "rc", UID: "rc"},
			Spec: corev1.ReplicationControllerSpec{Replicas: ptr.To(int32(1))}},
		&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "ds", UID: "ds"}})
	if err := set.Add(objects...); err != nil {
		t.Fatal(err)
	}
	for _, p := range set.Pods {
		p.Spec.NodeName = "node-1"
	}
	return set
}

// each calls visit with each list of objects of a set.
func each(set *manifests.Set, visit func(list reflect.Value)) {
	v := reflect.ValueOf(set).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); v.Type().Field(i).IsExported() && f.Kind() == reflect.Slice &&
			f.Type().Elem().Kind() == reflect.Pointer {
			visit(f)
		}
	}
}

func withNils(set *manifests.Set) *manifests.Set {
	each(set, func(list reflect.Value) {
		list.Set(reflect.Append(list, reflect.Zero(list.Type().Elem()), reflect.New(list.Type().Elem().Elem())))
	})
	return set
}

func twice(set *manifests.Set) *manifests.Set {
	each(set, func(list reflect.Value) {
		for i := range list.Len() {
			other := list.Index(i).Interface().(runtime.Object).DeepCopyObject().(manifests.Object)
			other.SetLabels(map[string]string{"app": "another"})
			list.Set(reflect.Append(list, reflect.ValueOf(other)))
		}
	})
	return set
}

// rewritten puts texts, numbers and times into each field of each object: which one, its path says. Names stay as they
// are unless names says that they are rewritten too, so that objects refer to each other.
func rewritten(set *manifests.Set, texts []string, numbers []int64, times []time.Time, names bool) *manifests.Set {
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		hash := fnv.New32a()
		hash.Write([]byte(path))
		n := hash.Sum32() // and no counter, which every new field of the API would move
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(path, v.Elem())
			}
		case reflect.Struct:
			if at, ok := v.Addr().Interface().(*metav1.Time); ok {
				if len(times) > 0 {
					at.Time = times[n%uint32(len(times))]
				}
				return
			}
			if value, ok := v.Addr().Interface().(*intstr.IntOrString); ok {
				if value.Type == intstr.String || len(texts) > 0 {
					value.Type = intstr.String
					walk(path, reflect.ValueOf(&value.StrVal))
				} else {
					walk(path, reflect.ValueOf(&value.IntVal))
				}
				return
			}
			for i := range v.NumField() {
				name := v.Type().Field(i).Name
				if keep := name == "ObjectMeta" || name == "TypeMeta" ||
					name == "OwnerReferences"; v.Type().Field(i).IsExported() && (names || len(times) > 0 || !keep) {
					walk(path+"."+name, v.Field(i))
				}
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(fmt.Sprint(path, i), v.Index(i))
			}
		case reflect.Map:
			for it := v.MapRange(); len(texts) > 0 && it.Next(); {
				if v.Type().Elem().Kind() == reflect.String {
					v.SetMapIndex(it.Key(), reflect.ValueOf(texts[n%uint32(len(texts))]).Convert(v.Type().Elem()))
				}
			}
		case reflect.String:
			if len(texts) > 0 {
				v.SetString(texts[n%uint32(len(texts))])
			}
		case reflect.Int32, reflect.Int64, reflect.Int:
			if len(numbers) > 0 {
				if x := numbers[n%uint32(len(numbers))]; v.OverflowInt(x) {
					v.SetInt(math.MinInt32)
				} else {
					v.SetInt(x)
				}
			}
		}
	}
	each(set, func(list reflect.Value) {
		for i := range list.Len() {
			walk(fmt.Sprint(list.Type(), " ", i), list.Index(i))
		}
	})
	// A selector that names no label and cannot be compiled.
	for i, b := range set.Budgets {
		if len(texts) > 0 && i%2 == 0 && !names {
			b.Spec.Selector = &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near", Values: texts}}}
		}
	}
	return set
}

// cyclic is a cluster in which everything is its own owner, or the owner of its owner.
func cyclic(t testing.TB) *manifests.Set {
	t.Helper()
	set := good(t)
	owner := func(apiVersion, kind string, o metav1.Object) []metav1.OwnerReference {
		return []metav1.OwnerReference{
			{APIVersion: apiVersion, Kind: kind, Name: o.GetName(), UID: o.GetUID(), Controller: ptr.To(true)}}
	}
	for i, p := range set.Pods {
		p.OwnerReferences = owner("v1", "Pod", set.Pods[(i+1)%len(set.Pods)])
	}
	for _, rs := range set.ReplicaSets {
		rs.OwnerReferences = owner("apps/v1", "Deployment", set.Deployments[0])
		set.Deployments[0].OwnerReferences = owner("apps/v1", "ReplicaSet", rs)
		set.Pods[0].OwnerReferences = owner("apps/v1", "ReplicaSet", rs)
	}
	for _, s := range set.StatefulSets {
		s.OwnerReferences = owner("apps/v1", "StatefulSet", s)
		set.Pods[1].OwnerReferences = owner("apps/v1", "StatefulSet", s)
	}
	for _, c := range set.Claims {
		c.OwnerReferences = owner("resource.k8s.io/v1", "ResourceClaim", c)
		c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{
			APIGroup: "resource.k8s.io", Resource: "resourceclaims", Name: c.Name, UID: c.UID})
	}
	set.ClusterRoles = nil
	for i := range 20 {
		r := purekubetest.AggregatedRole(fmt.Sprint("circle-", i), fmt.Sprint("to-", i))
		r.Labels = map[string]string{fmt.Sprint("to-", i): "true", fmt.Sprint("to-", (i+1)%20): "true"}
		r.Rules = []rbacv1.PolicyRule{
			{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{fmt.Sprint("r", i)}}}
		set.ClusterRoles = append(set.ClusterRoles, r)
	}
	return set
}

// huge is a cluster of objects with many entries.
func huge(t testing.TB) *manifests.Set {
	t.Helper()
	many := 200
	if text := os.Getenv("PUREKUBE_HUGE"); text != "" {
		var err error
		if many, err = strconv.Atoi(text); err != nil {
			t.Fatalf("PUREKUBE_HUGE: %v", err)
		}
	}
	set := good(t)
	cidrs := make([]string, many)
	rules := make([]rbacv1.PolicyRule, many)
	selectors := make([]metav1.LabelSelector, many)
	reserved := make([]resourcev1.ResourceClaimConsumerReference, many)
	disrupted := map[string]metav1.Time{}
	labels := map[string]string{"app": "db"}
	for i := range many {
		cidrs[i] = fmt.Sprintf("10.%d.%d.0/24", i/256, i%256)
		rules[i] = rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{fmt.Sprint("r", i)}}
		selectors[i] = metav1.LabelSelector{MatchLabels: map[string]string{fmt.Sprint("k", i): "x"}}
		reserved[i] = resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: fmt.Sprint("p", i),
			UID: types.UID(fmt.Sprint(i))}
		disrupted[fmt.Sprint("p", i)] = metav1.NewTime(noon)
		labels[fmt.Sprint("k", i)] = "x"
	}
	set.ServiceCIDRs[0].Spec.CIDRs = cidrs
	set.ClusterRoles[0].AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: selectors}
	set.ClusterRoles = append(set.ClusterRoles,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "source", Labels: labels}, Rules: rules})
	set.Claims[0].Status.ReservedFor = reserved
	set.Budgets[0].Status.DisruptedPods = disrupted
	pod := set.Pods[0]
	for i := range many {
		p := pod.DeepCopy()
		p.Name, p.UID = fmt.Sprint("p", i), types.UID(fmt.Sprint(i))
		if i == 0 {
			p.Labels = labels
		}
		set.Pods = append(set.Pods, p)
		if i%20 == 0 {
			set.Budgets = append(set.Budgets,
				&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("b", i)},
					Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}})
		}
	}
	return set
}
