package badinput

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/admission/memory"
	"github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/reviews"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/resourceclaim"
	claimmemory "github.com/purekube/purekube/resourceclaim/memory"
	"github.com/purekube/purekube/servicecidr"
)

// argumentsFor are the arguments of a case with what takes more than a type to make: actions of plans, reviews, and values that
// only a constructor makes.
func argumentsFor(t *testing.T, c Case) *arguments {
	t.Helper()
	a := newArguments(t, c)
	put(a, requests(t, c)...)
	put(a, posts(t, c)...)
	put[http.ResponseWriter](a, httptest.NewRecorder())
	put(a, webhook.New(func(_ context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{UID: r.UID, Allowed: true}
	}, webhook.Options{MaxBody: 1 << 16, Log: slog.New(slog.DiscardHandler)}))
	put(a, memory.NewStore(memory.Options{}))
	put(a, claimmemory.NewDeletedPods(int(min(max(c.Ints[0], -1), 10))))
	put(a, &claimmemory.AssumedClaims{})
	cluster := purekubetest.NewCluster(&recorder{TB: t})
	cluster.Set = *c.Set
	put(a, cluster)
	for _, s := range c.Strings {
		address, _ := netip.ParseAddr(s)
		prefix, _ := netip.ParsePrefix(s)
		put(a, address)
		put(a, prefix)
	}
	put(a, netip.MustParsePrefix("10.96.0.0/24"))
	actions(a)
	return a
}

// plannedBy are the actions of all plans of the Indexes of a package.
func plannedBy[X purekube.Index[X, S, A], S any, A purekube.Action](a *arguments) (planned []purekube.Action) {
	var none X
	for _, x := range known[X](a) {
		if any(x) == any(none) {
			continue
		}
		outcomes, _ := x.PlanAll()
		for _, o := range outcomes {
			for _, action := range o.Result.Actions {
				planned = append(planned, action)
			}
		}
	}
	return planned
}

// actions are those of the plans of the case, and of each type the zero value: a program can make it.
func actions(a *arguments) {
	planned := slices.Concat(
		plannedBy[*disruption.Index, disruption.Snapshot, disruption.Action](a),
		plannedBy[*resourceclaim.Index, resourceclaim.Snapshot, resourceclaim.Action](a),
		plannedBy[*servicecidr.Index, servicecidr.Snapshot, servicecidr.Action](a))
	if len(planned) > 2*perType {
		planned = planned[:2*perType]
	}
	put(a, planned)
	for _, action := range planned {
		a.put(reflect.ValueOf(action))
	}
}

func known[T any](a *arguments) (values []T) {
	for _, v := range a.known[reflect.TypeFor[T]()] {
		values = append(values, v.Interface().(T))
	}
	return values
}

// requests are what API servers ask about objects of the case, each whole and cut off.
func requests(t *testing.T, c Case) []*admissionv1.AdmissionRequest {
	t.Helper()
	all := []*admissionv1.AdmissionRequest{nil, {}}
	add := func(r reviews.Request) {
		if text, err := json.Marshal(r.Object); err != nil || len(text) == 0 {
			return // an object that no API server can send
		}
		whole := r.Review(t)
		cut := whole.DeepCopy()
		cut.Object.Raw, cut.OldObject.Raw = cut.Object.Raw[:len(cut.Object.Raw)/2], cut.OldObject.Raw[:len(cut.OldObject.Raw)/2]
		all = append(all, whole, cut)
	}
	for _, p := range c.Set.Pods[:min(1, len(c.Set.Pods))] {
		r := reviews.Evicts(p.Name)
		r.Object = &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}}
		add(r)
	}
	for _, b := range c.Set.Budgets[:min(1, len(c.Set.Budgets))] {
		add(reviews.WritesBudget(b))
	}
	for _, r := range c.Set.ClusterRoles[:min(1, len(c.Set.ClusterRoles))] {
		add(reviews.WritesRole(nil, r))
	}
	for _, r := range c.Set.ServiceCIDRs[:min(1, len(c.Set.ServiceCIDRs))] {
		d := reviews.DeletesCIDR(r.Name, "")
		d.OldObject = r
		add(d)
	}
	return all
}

// posts are HTTP requests with those reviews, and with bodies that are no review.
func posts(t *testing.T, c Case) (all []*http.Request) {
	t.Helper()
	bodies := append([]string{"", "{", "null", "[]", `{"kind":"AdmissionReview"}`, strings.Repeat("[", 20_000), strings.Repeat("x", 1<<17)}, c.Strings...)
	for _, r := range requests(t, c) {
		text, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": r})
		if err == nil {
			bodies = append(bodies, string(text))
		}
	}
	for i, body := range spread(reflected(bodies)) {
		r, err := http.NewRequest([]string{http.MethodPost, http.MethodPost, http.MethodGet}[i%3], "/validate?timeout=1s", strings.NewReader(body.String()))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		all = append(all, r)
	}
	return all
}

func reflected[T any](values []T) (all []reflect.Value) {
	for _, v := range values {
		all = append(all, reflect.ValueOf(v))
	}
	return all
}
