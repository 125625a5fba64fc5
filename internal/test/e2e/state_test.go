package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// watchedKinds are what the five controllers write to, and what hangs on it.
var watchedKinds = []string{
	"/api/v1/nodes", "/api/v1/pods", "/apis/policy/v1/poddisruptionbudgets", "/apis/resource.k8s.io/v1/resourceclaims",
	"/apis/rbac.authorization.k8s.io/v1/clusterroles", "/apis/networking.k8s.io/v1/servicecidrs", "/apis/networking.k8s.io/v1/ipaddresses",
}

func (w *world) all(ctx context.Context) ([]unstructured.Unstructured, error) {
	var objects []unstructured.Unstructured
	for _, path := range watchedKinds {
		raw, err := w.RESTClient().Get().AbsPath(path).Do(ctx).Raw()
		if err != nil {
			return nil, err
		}
		var list unstructured.UnstructuredList
		if err := list.UnmarshalJSON(raw); err != nil {
			return nil, err
		}
		objects = append(objects, list.Items...)
	}
	return objects, nil
}

// idle is for how long nothing is written to a cluster whose controllers have nothing left to do. The longest pause is before the
// finalizer of a ServiceCIDR is removed: while a cache seems to be behind, the API server is looked at every 30 seconds, for up to 5.
const idle = 45 * time.Second

// still waits until nothing has been written for that long.
func (w *world) still(t *testing.T, quiet time.Duration) {
	t.Helper()
	last, since := "", time.Now()
	for deadline := time.Now().Add(3 * time.Minute); time.Since(since) < quiet; time.Sleep(250 * time.Millisecond) {
		objects, err := w.all(t.Context())
		require.NoError(t, err)
		var versions strings.Builder
		for _, o := range objects {
			fmt.Fprintln(&versions, o.GetKind(), o.GetNamespace(), o.GetName(), o.GetResourceVersion())
		}
		if now := versions.String(); now != last {
			last, since = now, time.Now()
		}
		if time.Now().After(deadline) {
			t.Fatalf("still written to after 3 minutes")
		}
	}
}

// state is what the objects say, without what differs from cluster to cluster: UIDs, times, versions, field managers, and
// the ends of generated names.
func (w *world) state(t *testing.T) map[string]string {
	t.Helper()
	objects, err := w.all(t.Context())
	require.NoError(t, err)
	names := map[string]string{} // of claims: what the name was generated from
	for _, o := range objects {
		if o.GetGenerateName() != "" {
			names[o.GetName()] = o.GetGenerateName() + "*"
		}
	}
	state := map[string]string{}
	for _, o := range objects {
		key := fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
		if name, generated := names[o.GetName()]; generated {
			key = fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), name)
			// Two claims of one entry would be one here.
			for n := 2; state[key] != ""; n++ {
				key = fmt.Sprintf("%s %s/%s%d", o.GetKind(), o.GetNamespace(), name, n)
			}
		}
		content := normal(o.Object, names).(map[string]any)
		encoded, err := json.MarshalIndent(content, "", " ")
		require.NoError(t, err)
		state[key] = string(encoded)
	}
	return state
}

// incidental are the fields that differ from cluster to cluster.
var incidental = map[string]bool{
	"uid": true, "resourceVersion": true, "creationTimestamp": true, "managedFields": true, "generation": true, "observedGeneration": true,
	"deletionTimestamp": true, "lastTransitionTime": true, "startTime": true, "qosClass": true,
}

// generatedLength is how much of a name the API server makes up.
const generatedLength = 5

func normal(value any, names map[string]string) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for field, content := range v {
			switch name, _ := content.(string); {
			case field == "disruptedPods": // name to time
				entries := map[string]any{}
				for pod := range content.(map[string]any) {
					entries[pod] = "then"
				}
				out[field] = entries
			case field == "resourceClaimName" && len(name) > generatedLength: // of a claim that may be gone
				out[field] = name[:len(name)-generatedLength] + "*"
			case field == "resourceClaimStatuses": // a map by name, which upstream writes in any order
				statuses := normal(content, names).([]any)
				slices.SortFunc(statuses, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
				out[field] = statuses
			case !incidental[field]:
				out[field] = normal(content, names)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = normal(v[i], names)
		}
		return out
	case string:
		if name, generated := names[v]; generated {
			return name
		}
		return v
	}
	return value
}
