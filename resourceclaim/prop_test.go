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

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/aliasing"
	"github.com/purekube/purekube/internal/test/seed"
)

// copySnapshot is a deep copy. The functions in it are shared.
func copySnapshot(s Snapshot) Snapshot {
	out := s
	out.Pods, out.Claims, out.Assumed, out.Templates = nil, nil, nil, nil
	for _, p := range s.Pods {
		out.Pods = append(out.Pods, p.DeepCopy())
	}
	for _, c := range s.Claims {
		out.Claims = append(out.Claims, c.DeepCopy())
	}
	for _, c := range s.Assumed {
		out.Assumed = append(out.Assumed, c.DeepCopy())
	}
	for _, t := range s.Templates {
		out.Templates = append(out.Templates, t.DeepCopy())
	}
	out.PodGroups = copyGroups(s.PodGroups)
	out.Deleted = s.Deleted.Clone()
	if s.Answers != nil {
		out.Answers = replies{}
		for need, answer := range s.Answers {
			switch o := answer.Object.(type) {
			case *corev1.Pod:
				answer.Object = o.DeepCopy()
			case *resourcev1.ResourceClaim:
				answer.Object = o.DeepCopy()
			case PodGroup:
				answer.Object = copyGroups([]PodGroup{o})[0]
			}
			out.Answers[need] = answer
		}
	}
	return out
}

func copyGroups(groups []PodGroup) []PodGroup {
	var out []PodGroup
	for _, g := range groups {
		out = append(out, SetClaimStatuses{UID: "nobody's"}.ApplyToPodGroup(g))
	}
	return out
}

func shuffled(s Snapshot, r *rand.Rand) Snapshot {
	s.Pods, s.Claims, s.Assumed, s.Templates = slices.Clone(s.Pods), slices.Clone(s.Claims), slices.Clone(s.Assumed), slices.Clone(s.Templates)
	r.Shuffle(len(s.Pods), func(i, j int) { s.Pods[i], s.Pods[j] = s.Pods[j], s.Pods[i] })
	r.Shuffle(len(s.Claims), func(i, j int) { s.Claims[i], s.Claims[j] = s.Claims[j], s.Claims[i] })
	r.Shuffle(len(s.Assumed), func(i, j int) { s.Assumed[i], s.Assumed[j] = s.Assumed[j], s.Assumed[i] })
	s.PodGroups = slices.Clone(s.PodGroups)
	r.Shuffle(len(s.PodGroups), func(i, j int) { s.PodGroups[i], s.PodGroups[j] = s.PodGroups[j], s.PodGroups[i] })
	r.Shuffle(len(s.Templates), func(i, j int) { s.Templates[i], s.Templates[j] = s.Templates[j], s.Templates[i] })
	return s
}

// data of a snapshot that can be compared and walked.
func data(s Snapshot) []any {
	return []any{s.Now, s.Pods, s.Claims, s.Assumed, s.Templates, s.Answers, s.PodGroups, s.Deleted}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func outcomesEqual(a, b []Outcome) string {
	return cmp.Diff(a, b, cmp.Comparer(func(x, y error) bool { return errorText(x) == errorText(y) }))
}

// allKeys are those of every object, and some of none.
func allKeys(s Snapshot) []purekube.Key {
	keys := []purekube.Key{{}, podKey("nobody"), claimKey("nothing"), podKey(""), claimKey("")}
	for _, p := range s.Pods {
		if p != nil {
			keys = append(keys, podKey(p.Name))
		}
	}
	for _, c := range slices.Concat(s.Claims, s.Assumed) {
		if c != nil {
			keys = append(keys, claimKey(c.Name))
		}
	}
	for _, g := range s.PodGroups {
		keys = append(keys, groupKey(g.Name))
	}
	slices.SortFunc(keys, purekube.Key.Compare)
	return slices.Compact(keys)
}

// checkContract checks what holds for any snapshot at all.
func checkContract(t *testing.T, s Snapshot, o Options, r *rand.Rand) {
	t.Helper()
	before := copySnapshot(s)
	out, whole := PlanAll(s, o)
	require.Empty(t, cmp.Diff(data(before), data(s)), "the snapshot is as it was")
	require.Empty(t, aliasing.Shared(data(s), out), "nothing returned is the snapshot's")
	again, wholeAgain := PlanAll(shuffled(s, r), o)
	require.Empty(t, outcomesEqual(out, again), "the order of the slices does not matter")
	require.Equal(t, errorText(whole), errorText(wholeAgain), "the order of the slices does not matter")

	byKey := map[purekube.Key]Outcome{}
	for i, outcome := range out {
		require.True(t, i == 0 || purekube.Key.Compare(out[i-1].Key, outcome.Key) < 0, "sorted, each key once")
		require.True(t, outcome.Err != nil || !outcome.Result.Empty(), "it says something")
		require.NotEqual(t, purekube.Key{}, outcome.Key)
		checkRequests(t, outcome.Result.Actions)
		byKey[outcome.Key] = outcome
	}
	var explained []Explanation
	for _, key := range allKeys(s) {
		result, err := Plan(s, key, o)
		require.Empty(t, cmp.Diff(byKey[key].Result, result), "Plan and PlanAll agree on %s", key)
		// Plan adds what is wrong with the snapshot as a whole, except for templates.
		for line := range strings.Lines(errorText(err)) {
			line = strings.TrimSuffix(line, "\n")
			require.True(t, strings.Contains(errorText(byKey[key].Err), line) || strings.Contains(errorText(whole), line), "%s: %s", key, line)
		}
		for line := range strings.Lines(errorText(byKey[key].Err)) {
			require.Contains(t, errorText(err), strings.TrimSuffix(line, "\n"), "%s", key)
		}
		require.True(t, len(result.Needs) == 0 || len(result.Actions) == 0, "while there are Needs there is nothing to do")
		require.True(t, len(result.Events) == 0 || err != nil, "an event comes with the error of a failure that goes on")
		explanation, explainErr := NewIndex(s, o).Explain(key)
		require.Equal(t, key, explanation.Key)
		if errors.Is(explainErr, purekube.ErrNotFound) {
			require.False(t, holds(s, key, o), "%s is there", key)
			require.True(t, result.Empty(), "the plan for an object that is gone is empty")
			continue
		}
		require.True(t, holds(s, key, o), "%s is not there", key)
		require.Equal(t, errorText(err), errorText(explainErr), "Explain and Plan agree on what is wrong")
		require.Empty(t, aliasing.Shared(data(s), explanation))
		if len(explanation.Reasons) > 0 {
			explained = append(explained, explanation)
		}
		if byKey[key].Err != nil {
			require.NotEmpty(t, explanation.Reasons, "what is wrong with %s stands among the reasons", key)
		}
	}
	explainedAll, explainAllErr := NewIndex(s, o).ExplainAll()
	require.Empty(t, cmp.Diff(explained, explainedAll), "Explain and ExplainAll agree")
	require.Equal(t, errorText(whole), errorText(explainAllErr), "ExplainAll and PlanAll agree on what is wrong")
	for _, p := range s.Pods {
		for _, e := range []struct{ oldPod, newPod *corev1.Pod }{{nil, p}, {p, nil}, {p, p}} {
			require.Equal(t, affectedByPod(s, e.oldPod, e.newPod, o), affectedByPod(shuffled(s, r), e.oldPod, e.newPod, o))
		}
	}
	for _, c := range s.Claims {
		require.Equal(t, affectedByClaim(s, nil, c, o), affectedByClaim(shuffled(s, r), nil, c, o))
		require.Equal(t, affectedByClaim(s, c, nil, o), affectedByClaim(shuffled(s, r), c, nil, o))
	}
	for _, tm := range s.Templates {
		require.Equal(t, affectedByTemplate(s, nil, tm, o), affectedByTemplate(shuffled(s, r), nil, tm, o))
	}
	require.Empty(t, cmp.Diff(data(before), data(s)), "the snapshot is as it was")
}

// holds reports whether the snapshot holds the object of that key, as a plan sees it.
func holds(s Snapshot, key purekube.Key, o Options) bool {
	if key.Name == "" {
		return false
	}
	if key.Kind == podKind {
		return slices.ContainsFunc(s.Pods, func(p *corev1.Pod) bool { return p != nil && KeyOf(p) == key })
	}
	if key.Kind == podGroupKind {
		return o.PodGroupOf != nil && slices.ContainsFunc(s.PodGroups, func(g PodGroup) bool { return KeyOf(&g) == key })
	}
	is := func(c *resourcev1.ResourceClaim) bool { return c != nil && KeyOf(c) == key }
	return slices.ContainsFunc(s.Claims, is) || !o.matchUpstream() && slices.ContainsFunc(s.Assumed, is)
}

func seeded(t *testing.T, rounds int, f func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	for seed := range seed.Each(t, few(rounds)) {
		if !t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { f(t, rand.New(rand.NewPCG(seed, 30))) }) {
			return
		}
	}
}

func TestContract(t *testing.T) {
	seeded(t, 150, func(t *testing.T, r *rand.Rand) {
		s := generator{r, r.IntN(3) == 0}.snapshot()
		o := modes[r.IntN(len(modes))].options
		o.DenyAdminAccess = r.IntN(2) == 0
		checkContract(t, s, o, r)
	})
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
