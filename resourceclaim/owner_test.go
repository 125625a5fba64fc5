package resourceclaim

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// A pod with many entries is decided as one with few: the first status of a name counts, and the
// first entry of a name.
func TestManyEntries(t *testing.T) {
	for _, n := range []int{fewEntries - 2, fewEntries, 3 * fewEntries} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			p := newPod("p", onNode)
			s := Snapshot{Pods: pods(p), Templates: templates(newTemplate("gpu"))}
			for i := range n {
				entry, claim := fmt.Sprint("e", i), fmt.Sprint("c", i)
				has(entry, "gpu", claim)(p)
				got(entry, "another")(p)
				s.Claims = append(s.Claims, newClaim(claim, allocated, madeFor("p", entry), reservedFor("p")))
			}
			r, err := Plan(s, podKey("p"), Options{})
			require.NoError(t, err)
			require.True(t, r.Empty(), "every entry has its claim: %v", lines(r.Actions))
			for i := range p.Spec.ResourceClaims {
				name, state := ClaimName(p, &p.Spec.ResourceClaims[i])
				o := podClaimant(p)
				again, stateAgain := o.claimName(i)
				require.Equal(t, name, again)
				require.Equal(t, state, stateAgain)
			}

			wants("e1", "gpu")(p)
			wants("new", "gpu")(p)
			got("no entry", "foreign")(p)
			r, err = Plan(s, podKey("p"), Options{})
			require.ErrorIs(t, err, errDuplicateEntry)
			require.ErrorContains(t, err, fmt.Sprintf("spec.resourceClaims[%d].name", n))
			require.Len(t, r.Actions, 2)
			statuses := r.Actions[1].(SetClaimStatuses)
			require.Equal(t, []string{"new"}, statuses.Pending)
			require.Len(t, statuses.Statuses, n, "D-5: each once")
			require.Equal(t, "c1", *statuses.Statuses[1].ResourceClaimName)
			require.Contains(t, affectedByPod(s, nil, p, Options{}), podKey("p"))
		})
	}
}

// Which actions say that those behind them are right without them.
func TestD8_GoOn(t *testing.T) {
	s := Snapshot{
		Pods:      pods(newPod("p", onNode, uses("a", "c1"), uses("b", "c2"), wants("c", "gpu")), newPod("over", phase(corev1.PodFailed))),
		Claims:    claims(newClaim("c1", allocated), newClaim("c2", allocated), newClaim("own", allocated, madeFor("over", "gpu"), reservedFor("over"))),
		Templates: templates(newTemplate("gpu")),
	}
	for _, mode := range modes {
		out, err := PlanAll(s, mode.options)
		require.NoError(t, err)
		continueOnError := map[string]bool{}
		for _, o := range out {
			for _, a := range o.Result.Actions {
				continueOnError[fmt.Sprintf("%T", a)] = a.Request(nil).ContinueOnError
			}
		}
		want := !mode.options.matchUpstream()
		require.Equal(t, map[string]bool{
			"resourceclaim.CreateClaim": want, "resourceclaim.SetClaimStatuses": want, "resourceclaim.Reserve": want,
			"resourceclaim.Release": false, "resourceclaim.RemoveFinalizer": false, "resourceclaim.DeleteClaim": false,
		}, continueOnError, mode.name)
	}
}
