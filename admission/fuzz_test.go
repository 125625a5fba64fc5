package admission

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
)

// Whatever a request holds, each decision answers it, does not write to it, and keeps the promises of the package comment.
func FuzzDecide(f *testing.F) {
	all := refusals()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text, err := json.Marshal(all[name].Review(f))
		require.NoError(f, err)
		f.Add(text)
	}
	for _, text := range []string{`{}`, `null`, `{"uid":"1","resource":{"resource":"pods"},"subResource":"eviction","object":[]}`} {
		f.Add([]byte(text))
	}
	x := cluster(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		r := &admissionv1.AdmissionRequest{}
		if json.Unmarshal(text, r) != nil {
			return
		}
		before := r.DeepCopy()
		evicted, _ := EvictionOf(r)
		for name, a := range map[string]*admissionv1.AdmissionResponse{
			"Decide": Decide(x, r, strict), "Decide, lenient": Decide(x, r, Options{Evictions: EvictionOptions{AllowUnknown: true}}),
			"ServiceCIDRDelete": ask("ServiceCIDRDelete", x, r), "ClusterRoleWrite": ask("ClusterRoleWrite", x, r),
			"Eviction": ask("Eviction", x, r), "BudgetWrite": ask("BudgetWrite", x, r),
		} {
			require.Equal(t, r.UID, a.UID, name)
			if a.Allowed {
				require.NotEmpty(t, r.UID, name)
				require.Nil(t, a.Result, name)
			} else {
				require.Empty(t, a.Warnings, name)
				require.Contains(t, []int32{400, 403, 409, 429, 500, 503}, a.Result.Code, name)
				require.NotEmpty(t, a.Result.Reason, name)
				require.LessOrEqual(t, len(a.Result.Message), maxMessage, name)
			}
			for _, w := range a.Warnings {
				require.LessOrEqual(t, len(w), maxWarning, name)
			}
		}
		depends := evicted.Name != "" || ReadsServiceCIDRs(r) || ReadsClusterRoles(r, strict.ClusterRoles)
		require.False(t, depends && Decide(Indexes{}, r, strict).Allowed, "nothing is allowed before the objects are known")
		require.True(t, reflect.DeepEqual(before, r), "the request was written to")
	})
}
