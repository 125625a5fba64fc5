package manifests

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The API server takes keys of JSON as they are. Replicas beside replicas is another field, and is not the scale.
func TestKeysOfCustomWorkloadsAreExact(t *testing.T) {
	const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","ownerReferences":[
		{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","name":"r","uid":"u","controller":true}]}}`
	for spec, replicas := range map[string]int32{
		`"replicas":5`: 5, `"replicas":5,"Replicas":1`: 5, `"Replicas":1,"replicas":5`: 5, `"Replicas":1`: 0,
	} {
		text := `{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","metadata":{"name":"r","uid":"u"},"spec":{` + spec + `}}` + "\n" + pod
		set, err := Load(Options{Stdin: strings.NewReader(text)}, "-")
		require.NoError(t, err)
		if replicas == 0 {
			require.Empty(t, set.Disruption(time.Time{}).Answers, spec)
			continue
		}
		require.Len(t, set.CustomWorkloads, 1, spec)
		require.Equal(t, replicas, *set.CustomWorkloads[0].Replicas, spec)
	}
}
