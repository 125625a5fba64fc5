package manifests

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
)

// Input with a gap that nothing would notice is an error, and the set is not complete.
func TestGapsAreErrors(t *testing.T) {
	const budget = `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},"spec":{"maxUnavailable":0}}`
	for _, tc := range []struct{ name, reason, text, field string }{
		{
			"a list of a kind without items", "nobody knows how many there are",
			`{"apiVersion":"policy/v1","kind":"PodDisruptionBudgetList","metadata":{"resourceVersion":"1"}}`, "items",
		},
		{
			"items in other letters", "keys of the API are in camelCase",
			`{"apiVersion":"policy/v1","kind":"PodDisruptionBudgetList","metadata":{"resourceVersion":"1"},"Items":[` + budget + `]}`, "items",
		},
		{"a misspelt key of a list, in YAML", "the same", "apiVersion: policy/v1\nkind: PodDisruptionBudgetList\nitmes:\n- " + budget + "\n", "items"},
		{"a misspelt key of a list of any kind", "the same", `{"apiVersion":"v1","kind":"List","itmes":[` + budget + `]}`, "items"},
		{
			"another key beside the items", "it may be misspelt, too",
			`{"apiVersion":"v1","kind":"List","items":[` + budget + `],"itmes":[]}`, "itmes",
		},
		{
			"an object with items", "it is no list",
			`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"a"},"spec":{"maxUnavailable":1},"items":[` + budget + `]}`, "items",
		},
		{
			"a key that is given twice, of a kind that no package knows", "which of them counts?",
			`{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","metadata":{"name":"web"},"spec":{"replicas":10,"replicas":1}}`, "spec.replicas",
		},
		{
			"a kind that is given twice", "the object would be of a kind that nothing reads",
			`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"PodDisruptionBudget","kind":"ConfigMap","metadata":{"name":"b"}}]}`, "kind",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set, err := Load(Options{Stdin: strings.NewReader(tc.text)}, "-")
			require.Error(t, err, tc.reason)
			fields := []string{}
			for _, e := range Errors(err) {
				fields = append(fields, e.Field)
			}
			assert.Contains(t, fields, tc.field, err)
			assert.Empty(t, set.CustomWorkloads)
		})
	}
}

// Lists without an object are no gap.
func TestEmptyLists(t *testing.T) {
	for _, text := range []string{
		`{"apiVersion":"policy/v1","kind":"PodDisruptionBudgetList","metadata":{"resourceVersion":"1"},"items":[]}`,
		`{"apiVersion":"policy/v1","kind":"PodDisruptionBudgetList","metadata":{"resourceVersion":"1"},"items":null}`,
	} {
		set, err := Load(Options{Stdin: strings.NewReader(text)}, "-")
		require.NoError(t, err)
		require.Contains(t, set.Seen, PodDisruptionBudget)
	}
}

// A ServiceCIDR of a newer API server, of which this build knows only a part, must not let another one go.
func TestServiceCIDRThatIsReadInPart(t *testing.T) {
	set, err := Load(Options{Stdin: strings.NewReader(`
{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"small","uid":"s","resourceVersion":"1","deletionTimestamp":"2026-11-21T11:00:00Z","finalizers":["networking.k8s.io/service-cidr-finalizer"]},"spec":{"cidrs":["10.0.1.0/24"]}}
{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"big","uid":"b","resourceVersion":"7","finalizers":["networking.k8s.io/service-cidr-finalizer"]},"spec":{"cidrs":["10.0.0.0/16"],"exceptFor":["10.0.1.0/24"]}}
{"apiVersion":"networking.k8s.io/v1","kind":"IPAddress","metadata":{"name":"10.0.1.5","labels":{"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io","ipaddress.kubernetes.io/ip-family":"IPv4"}},"spec":{"parentRef":{"resource":"services","namespace":"shop","name":"web"}}}`)}, "-")
	require.ErrorContains(t, err, "exceptFor")
	x := servicecidr.NewIndex(set.ServiceCIDR(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)), servicecidr.Options{})
	r, err := x.Plan(servicecidr.Key("small"))
	require.NoError(t, err)
	for _, a := range r.Actions {
		require.NotEqual(t, "RemoveFinalizer", a.Type(), a)
	}
}

// A claim would lack what this build does not know of its template.
func TestTemplateThatIsReadInPart(t *testing.T) {
	set, err := Load(Options{Stdin: strings.NewReader(`
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"train","namespace":"ml","uid":"p","resourceVersion":"5"},"spec":{"containers":[{"name":"c","image":"x"}],"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"gpu"}]},"status":{"phase":"Pending"}}
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"name":"gpu","namespace":"ml","uid":"t","resourceVersion":"3"},"spec":{"spec":{"devices":{"requests":[{"name":"g","exactly":{"deviceClassName":"gpu","onlyOnNodes":["a"]}}]}}}}`)}, "-")
	require.ErrorContains(t, err, "onlyOnNodes")
	x := resourceclaim.NewIndex(set.ResourceClaim(time.Now()), resourceclaim.Options{})
	r, _ := x.Plan(resourceclaim.PodKey("ml", "train"))
	for _, a := range r.Actions {
		require.NotEqual(t, "CreateClaim", a.Type(), a)
	}
}
