package resourceclaim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/test/seed"
)

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func outcomesEqual(a, b []Outcome) string {
	return cmp.Diff(a, b, cmp.Comparer(func(x, y error) bool { return errorText(x) == errorText(y) }))
}

func seeded(t *testing.T, rounds int, f func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	for seed := range seed.Each(t, few(rounds)) {
		if !t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { f(t, rand.New(rand.NewPCG(seed, 30))) }) {
			return
		}
	}
}

// TestEveryKindOfDecisionOccurs keeps the generator honest.
func TestEveryKindOfDecisionOccurs(t *testing.T) {
	const rounds = 2000
	counts := map[string]int{}
	r := rand.New(rand.NewPCG(1, 30))
	for range rounds {
		seen := map[string]bool{}
		out, err := PlanAll(generator{r, true}.snapshot(), Options{DenyAdminAccess: true})
		require.NoError(t, err)
		for _, o := range out {
			for _, a := range o.Result.Actions {
				kind, _, _ := strings.Cut(a.String(), " ")
				if release, ok := a.(Release); ok && release.Deallocate {
					kind += "+Deallocate"
				}
				seen[kind] = true
			}
			seen["Need"] = seen["Need"] || len(o.Result.Needs) > 0
			seen["Event"] = seen["Event"] || len(o.Result.Events) > 0
			for _, err := range []error{errAdminAccess, errTemplateNotFound, errUnsupported, errClaimDeleting} {
				if errors.Is(o.Err, err) {
					seen[err.Error()] = true
				}
			}
		}
		for kind := range seen {
			counts[kind]++
		}
	}
	for _, kind := range []string{"CreateClaim", "SetClaimStatuses", "Reserve", "Release", "Release+Deallocate", "RemoveFinalizer", "DeleteClaim", "Need", "Event",
		errAdminAccess.Error(), errTemplateNotFound.Error(), errUnsupported.Error(), errClaimDeleting.Error()} {
		require.Greater(t, counts[kind], rounds/50, kind)
	}
}

// The oracle decides straight from the rules, with loops over everything.

func oracleFind(s Snapshot, name string) *resourcev1.ResourceClaim {
	var best *resourcev1.ResourceClaim
	version := func(c *resourcev1.ResourceClaim) (n int) { fmt.Sscan(c.ResourceVersion, &n); return n }
	for _, c := range s.Claims {
		if c.Name == name {
			best = c
		}
	}
	for _, c := range s.Assumed {
		if c.Name == name && (best == nil || version(c) > version(best)) {
			best = c
		}
	}
	return best
}

func oraclePod(s Snapshot, p *corev1.Pod, o Options) (actions []string, asks bool) {
	isDoneNow := p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed"
	if p.DeletionTimestamp != nil || isDoneNow {
		return nil, false
	}
	if s.Deleted.Has(p.UID) { // D-37
		answer, asked := podAnswer(s, p.Name)
		switch {
		case !asked:
			seen := s
			seen.Deleted = nil
			would, err := Plan(seen, podKey(p.Name), o)
			return nil, err != nil || !would.Empty()
		case answer == nil || answer.UID != p.UID:
			return nil, false
		}
	}
	var creates, reserves []string
	statuses := map[string]string{}
	changed := false
	reserved := map[string]bool{}
	for _, e := range p.Spec.ResourceClaims {
		name, mine := "", false
		var live *resourcev1.ResourceClaim
		switch {
		case e.ResourceClaimName != nil:
			name, mine = *e.ResourceClaimName, true
		case e.ResourceClaimTemplateName != nil:
			skip := false
			for _, st := range p.Status.ResourceClaimStatuses {
				if st.Name == e.Name && st.ResourceClaimName == nil {
					skip = true
					statuses[e.Name] = e.Name + " not needed"
				} else if st.Name == e.Name {
					name = *st.ResourceClaimName
					statuses[e.Name] = e.Name + "=" + name
				}
			}
			if skip {
				continue
			}
			c := oracleFind(s, name)
			mine = c != nil && len(c.OwnerReferences) == 1 && c.OwnerReferences[0].Controller != nil && c.OwnerReferences[0].UID == p.UID
			if mine {
				break
			}
			if name != "" && c == nil { // D-28
				answer, asked := claimAnswer(s, name)
				if !asked {
					asks = true
					continue
				}
				if answer != nil && len(answer.OwnerReferences) == 1 && answer.OwnerReferences[0].Controller != nil && answer.OwnerReferences[0].UID == p.UID {
					mine, live = true, answer
					break
				}
			}
			generatedOne := func(controlled bool) (adopted string) {
				best := -1
				for _, n := range []string{"c0", "c1", "c2", "c3", "c4", "c5"} {
					c := oracleFind(s, n)
					if c != nil && len(c.OwnerReferences) == 1 && (c.OwnerReferences[0].Controller != nil) == controlled && c.OwnerReferences[0].UID == p.UID &&
						c.Annotations["resource.kubernetes.io/pod-claim-name"] == e.Name {
						// It stays, it is reserved, it is allocated: one before counts more than all behind it.
						value := 0
						for _, good := range []bool{c.DeletionTimestamp == nil, len(c.Status.ReservedFor) > 0, c.Status.Allocation != nil} {
							value *= 2
							if good {
								value++
							}
						}
						if value > best {
							adopted, best = n, value
						}
					}
				}
				return adopted
			}
			adopted := generatedOne(true)
			template := slices.ContainsFunc(s.Templates, func(t *resourcev1.ResourceClaimTemplate) bool { return t.Name == *e.ResourceClaimTemplateName })
			denied := o.DenyAdminAccess && strings.HasSuffix(*e.ResourceClaimTemplateName, "x")
			named := c
			if named == nil {
				named, _ = claimAnswer(s, name)
			}
			switch {
			case adopted == "" && name != "" && named != nil && (len(named.OwnerReferences) == 0 || named.OwnerReferences[0].Controller == nil):
				// D-38: it may be the pod's.
				continue
			case adopted == "":
				adopted = generatedOne(false) // D-38
			}
			switch {
			case adopted != "":
				statuses[e.Name] = e.Name + "=" + adopted
				changed = true
			case template && !denied:
				creates = append(creates, fmt.Sprintf("CreateClaim ml/%s %s: %s-%s-*", p.Name, e.Name, p.Name, e.Name))
				statuses[e.Name] = "~" + e.Name + " pending" // after the others
				changed = true
			}
			continue
		}
		c := oracleFind(s, name)
		if live != nil {
			c = live
		}
		if c != nil && slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool {
			return r.Resource == "podgroups" && r.APIGroup != ""
		}) {
			continue // D-27
		}
		if !mine || c == nil || p.Spec.NodeName == "" || c.Status.Allocation == nil || c.DeletionTimestamp != nil || reserved[name] {
			continue
		}
		if !slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == p.UID }) {
			reserved[name] = true
			reserves = append(reserves, fmt.Sprintf("Reserve ml/%s: for pod ml/%s", name, p.Name))
		}
	}
	if asks {
		return nil, true
	}
	out := creates
	if changed {
		var all []string
		for _, st := range statuses {
			all = append(all, st)
		}
		slices.Sort(all)
		out = append(out, fmt.Sprintf("SetClaimStatuses ml/%s: %s", p.Name, strings.ReplaceAll(strings.Join(all, ", "), "~", "")))
	}
	return append(out, reserves...), false
}

func oracleClaim(s Snapshot, c *resourcev1.ResourceClaim) (actions []string, asks bool) {
	// gone says yes, no or ask about a pod.
	const yes, no, ask = 'y', 'n', 'a'
	known := func(uid types.UID) bool { return s.Deleted.Has(uid) }
	cached := func(name string) *corev1.Pod {
		for _, p := range s.Pods {
			// D-21, and D-37: an answer tells whether it is there.
			if answer, _ := podAnswer(s, name); p.Name == name && (!known(p.UID) || answer != nil && answer.UID == p.UID) {
				return p
			}
		}
		return nil
	}
	held := func(name string, uid types.UID) *corev1.Pod {
		for _, p := range s.Pods {
			if p.Name == name && p.UID == uid {
				return p
			}
		}
		return nil
	}
	finished := func(p *corev1.Pod) bool {
		return p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" || p.DeletionTimestamp != nil && p.Spec.NodeName == ""
	}
	gone := func(name string, uid types.UID) rune {
		if answer, asked := podAnswer(s, name); known(uid) { // D-37
			p := held(name, uid)
			switch {
			case p != nil && finished(p):
				return yes
			case asked && answer != nil && answer.UID == uid:
				return no
			case !asked:
				return ask
			}
			return yes
		}
		if p := cached(name); p != nil && p.UID == uid {
			if finished(p) {
				return yes
			}
			return no
		}
		answer, asked := podAnswer(s, name)
		switch {
		case !asked:
			return ask
		case answer == nil || answer.UID != uid:
			return yes
		}
		return no
	}
	var removed []string
	for _, r := range c.Status.ReservedFor {
		if r.APIGroup == "" && r.Resource == "pods" {
			switch gone(r.Name, r.UID) {
			case yes:
				removed = append(removed, r.Name)
			case ask:
				asks = true
			}
		}
	}
	if asks {
		return nil, true
	}
	empty := len(removed) == len(c.Status.ReservedFor)
	finalizer := slices.Contains(c.Finalizers, "resource.kubernetes.io/delete-protection")
	hasAllocation, deleting := c.Status.Allocation != nil, c.DeletionTimestamp != nil
	deallocated := hasAllocation && finalizer && empty && (len(removed) > 0 || deleting)
	if deallocated {
		removed = append(removed, "deallocate")
		hasAllocation = false
	}
	if len(removed) > 0 {
		actions = append(actions, fmt.Sprintf("Release ml/%s: %s", c.Name, strings.Join(removed, ", ")))
	}
	if finalizer && !hasAllocation && (len(removed) > 0 || empty && deleting) {
		actions = append(actions, "RemoveFinalizer ml/"+c.Name)
	}
	if empty && !deleting && len(c.OwnerReferences) == 1 && c.OwnerReferences[0].Controller != nil {
		owner := c.OwnerReferences[0]
		if p := cached(owner.Name); p != nil {
			unneeded := finished(p)
			if p.UID != owner.UID {
				switch gone(owner.Name, owner.UID) {
				case ask:
					return nil, true
				case yes:
					unneeded = true
				default:
					unneeded = false
				}
			}
			if unneeded {
				actions = append(actions, "DeleteClaim ml/"+c.Name)
			}
		}
	}
	return actions, false
}

func TestOracle(t *testing.T) {
	seeded(t, 600, func(t *testing.T, r *rand.Rand) {
		s := generator{r, true}.snapshot()
		o := Options{DenyAdminAccess: r.IntN(2) == 0}
		for _, p := range s.Pods {
			result, _ := Plan(s, podKey(p.Name), o)
			want, asks := oraclePod(s, p, o)
			require.Empty(t, cmp.Diff(want, lines(result.Actions)), p.Name)
			require.Equal(t, asks, len(result.Needs) > 0, p.Name)
		}
		for _, name := range []string{"c0", "c1", "c2", "c3", "c4", "c5"} {
			c := oracleFind(s, name)
			if c == nil {
				continue
			}
			result, err := Plan(s, claimKey(name), o)
			require.NoError(t, err)
			want, asks := oracleClaim(s, c)
			require.Empty(t, cmp.Diff(want, lines(result.Actions)), name)
			require.Equal(t, asks, len(result.Needs) > 0, name)
		}
	})
}

// few is a number of rounds, or a fifth of it if seed.Short.
func few(rounds int) int {
	if seed.Short() {
		return rounds / 5
	}
	return rounds
}
