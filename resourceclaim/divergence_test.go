package resourceclaim

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// TestDefaultDiffersByItsNumbersAlone holds the default to upstream wherever no numbered divergence
// applies: what they are is taken from the snapshot, not from the plan.
func TestDefaultDiffersByItsNumbersAlone(t *testing.T) {
	compared := map[string]int{}
	seeded(t, 1500, func(t *testing.T, r *rand.Rand) {
		s := generator{r, true}.snapshot()
		s.Assumed = nil
		for _, p := range s.Pods {
			if divergesForPod(s, p) {
				continue
			}
			ours, err := Plan(s, podKey(p.Name), Options{})
			require.NoError(t, err)
			upstream, err := Plan(s, podKey(p.Name), Options{MatchUpstream: purekube.V1_36})
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(bare(upstream.Actions), bare(ours.Actions)))
			require.Empty(t, cmp.Diff(upstream.Events, ours.Events))
			if len(ours.Actions) > 0 {
				compared[podKind]++
			}
		}
		for _, c := range s.Claims {
			if divergesForClaim(s, c.Name) {
				continue
			}
			ours, err := Plan(s, claimKey(c.Name), Options{})
			require.NoError(t, err)
			upstream, err := Plan(s, claimKey(c.Name), Options{MatchUpstream: purekube.V1_36})
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(upstream.Needs, ours.Needs))
			require.Empty(t, cmp.Diff(bare(upstream.Actions), bare(ours.Actions)))
			if len(ours.Actions) > 0 {
				compared[claimKind]++
			}
		}
	})
	require.Greater(t, compared[podKind], few(25))
	require.Greater(t, compared[claimKind], few(200))
}

// bare are the actions without what the default adds to them: UIDs and versions (D-10, D-26), and
// that those behind a refused one are right all the same (D-8).
func bare(actions []Action) []Action {
	var out []Action
	for _, a := range actions {
		switch b := a.(type) {
		case SetClaimStatuses:
			b.UID, b.ContinueOnError = "", false
			a = b
		case CreateClaim:
			b.ContinueOnError = false
			a = b
		case Reserve:
			b.ContinueOnError = false
			a = b
		case DeleteClaim:
			b.UID, b.ResourceVersion = "", ""
			a = b
		}
		out = append(out, a)
	}
	return out
}

func divergesForPod(s Snapshot, p *corev1.Pod) bool {
	if phase := p.Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
		return true // D-7
	}
	if s.Deleted.Has(p.UID) {
		return true // D-21
	}
	if slices.ContainsFunc(s.Claims, func(c *resourcev1.ResourceClaim) bool {
		return len(c.OwnerReferences) > 0 && c.OwnerReferences[0].UID == p.UID && c.OwnerReferences[0].Controller == nil
	}) {
		return true // D-38
	}
	named := map[string]bool{}
	for i := range p.Spec.ResourceClaims {
		e := &p.Spec.ResourceClaims[i]
		name, state := ClaimName(p, e)
		c := oracleFind(s, name)
		switch {
		case state == NameNotNeeded && len(p.Spec.ResourceClaims) == 1:
		case state != NameKnown:
			// D-5: its name would be applied together with the others'; D-8: it fails, or holds
			// back others.
			if len(p.Spec.ResourceClaims) > 1 || state == NameUnsupported || !slices.ContainsFunc(s.Templates, func(t *resourcev1.ResourceClaimTemplate) bool { return t.Name == *e.ResourceClaimTemplateName }) {
				return true
			}
		case c == nil || generated(e) && !metav1.IsControlledBy(c, p):
			return true // D-8
		case c.DeletionTimestamp != nil:
			return true // D-8
		case slices.ContainsFunc(c.Status.ReservedFor, func(ref resourcev1.ResourceClaimConsumerReference) bool { return isPodGroup(&ref) }):
			return true // D-27
		case named[name]:
			return true // D-16
		}
		named[name] = true
	}
	return false
}

func divergesForClaim(s Snapshot, name string) bool {
	c := oracleFind(s, name)
	if c.DeletionTimestamp != nil && len(c.OwnerReferences) > 0 {
		return true // D-17
	}
	// D-21: another pod has the name of a consumer or of the owner. D-37: a consumer that was seen to be
	// deleted is looked up.
	other := func(name string, uid types.UID) bool {
		return slices.ContainsFunc(s.Pods, func(p *corev1.Pod) bool {
			return p.Name == name && (p.UID != uid || s.Deleted.Has(p.UID))
		}) || s.Deleted.Has(uid)
	}
	for _, ref := range c.Status.ReservedFor {
		if other(ref.Name, ref.UID) {
			return true
		}
	}
	for _, ref := range c.OwnerReferences {
		if other(ref.Name, ref.UID) {
			return true
		}
	}
	return false
}
