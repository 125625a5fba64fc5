package scenario

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// rounds is how often a plan may ask for lookups: a claim asks for its consumers first, then for its owner, and a pod
// for one claim after the other.
const rounds = 10

// Ask asks the package. The release is for plans that match kube-controller-manager; empty: what the options say.
func (s *Scenario) Ask(release purekube.Upstream) ([]Line, error) {
	set, err := s.Set()
	if err != nil {
		return nil, err
	}
	given := release
	if release == "" && s.Options.MatchUpstream != "" {
		if release, err = purekube.ParseUpstream(s.Options.MatchUpstream); err != nil {
			return nil, fmt.Errorf("options.matchUpstream: %w", err)
		}
	}
	before, err := s.Set()
	if err != nil {
		return nil, err
	}
	r := &run{scenario: s, set: set, release: release, asked: map[string]bool{}, written: map[string]runtime.Object{},
		generated: map[string]int{}}
	lines, err := r.ask()
	if err == nil && !reflect.DeepEqual(before.Set, set.Set) {
		err = errors.New("the package has written to its objects")
	}
	if err != nil || given != "" {
		return lines, err
	}
	for _, head := range slices.Sorted(maps.Keys(s.file.Answers)) {
		if !r.asked[head] || !isLookup(head) {
			return lines, fmt.Errorf("answers: %s: nothing looks this up", head)
		}
	}
	for _, lines := range s.Upstream { // a rejection may be about what only kube-controller-manager sends
		for _, l := range lines {
			r.asked[l.Head] = true
		}
	}
	for _, head := range slices.Sorted(maps.Keys(s.Reject)) {
		if !r.asked[head] || isLookup(head) {
			return lines, fmt.Errorf("reject: %s: nothing sends this", head)
		}
	}
	return lines, nil
}

// isLookup reports whether the line is a lookup, and not a write.
func isLookup(head string) bool { return strings.HasPrefix(head, "get ") }

type run struct {
	scenario *Scenario
	set      *Set
	release  purekube.Upstream
	lines    []Line
	// asked are the lookups and the writes.
	asked map[string]bool
	// written are the objects that the API server has returned, and generated counts its names.
	written   map[string]runtime.Object
	generated map[string]int
}

func (r *run) ask() ([]Line, error) {
	o := r.scenario.Options
	var err error
	switch r.scenario.Package {
	case ServiceCIDR:
		err = plans(r, func(s *Set, _ answers) servicecidr.Snapshot { return s.ServiceCIDR(r.scenario.Now) },
			func(s servicecidr.Snapshot) *servicecidr.Index {
				return servicecidr.NewIndex(s, servicecidr.Options{MatchUpstream: r.release})
			})
	case ResourceClaim:
		options := resourceclaim.Options{
			MatchUpstream: r.release, DenyAdminAccess: o.DenyAdminAccess, DenyPrioritizedList: o.DenyPrioritizedList,
		}
		if o.PodGroups {
			options.PodGroupOf = r.set.PodGroupOf
		}
		err = plans(r, r.claims, func(s resourceclaim.Snapshot) *resourceclaim.Index {
			return resourceclaim.NewIndex(s, options)
		})
	case TTL:
		err = plans(r, func(s *Set, _ answers) ttl.Snapshot { return ttl.Snapshot{Step: o.Step, Nodes: s.Nodes} },
			func(s ttl.Snapshot) *ttl.Index {
				s.Step = ttl.NewIndex(s, ttl.Options{}).Step()
				return ttl.NewIndex(s, ttl.Options{})
			})
	case RBACAggregate:
		err = plans(r, func(s *Set, _ answers) rbacaggregate.Snapshot { return s.RBACAggregate() },
			func(s rbacaggregate.Snapshot) *rbacaggregate.Index {
				return rbacaggregate.NewIndex(s, rbacaggregate.Options{MatchUpstream: r.release})
			})
	case Disruption:
		index := func(s disruption.Snapshot) *disruption.Index {
			return disruption.NewIndex(s, disruption.Options{
				MatchUpstream: r.release, MaxUnavailableRounding: disruption.Rounding(o.MaxUnavailableRounding),
			})
		}
		if r.scenario.EvictsPods() {
			err = r.evictions(index)
			break
		}
		err = plans(r, r.budgets, index)
	}
	return r.lines, err
}

type answers = map[purekube.Need]purekube.Answer

func (r *run) claims(s *Set, a answers) resourceclaim.Snapshot {
	snapshot := s.ResourceClaim(r.scenario.Now)
	snapshot.PodGroups, snapshot.Assumed, snapshot.Answers = s.PodGroups, s.Assumed, a
	snapshot.Deleted = sets.New[types.UID]()
	for _, uid := range r.scenario.SeenDeleted {
		snapshot.Deleted.Insert(types.UID(uid))
	}
	return snapshot
}

func (r *run) budgets(s *Set, a answers) disruption.Snapshot {
	snapshot := s.Disruption(r.scenario.Now)
	snapshot.Answers = maps.Clone(snapshot.Answers)
	if snapshot.Answers == nil {
		snapshot.Answers = answers{}
	}
	maps.Copy(snapshot.Answers, a)
	return snapshot
}

// look looks the needs up. It returns false if there are none that were not looked up before.
func (r *run) look(needs []purekube.Need, into answers) (more bool, err error) {
	for _, n := range needs {
		if _, known := into[n]; known {
			continue
		}
		line := Get(n)
		r.lines = append(r.lines, line)
		r.asked[line.Head] = true
		answer, err := r.scenario.Answer(r.set, n)
		if err != nil {
			return false, err
		}
		into[n] = answer
		more = true
	}
	return more, nil
}

// plans asks for plans until no lookup is open, and sends their requests.
func plans[X purekube.Index[X, S, A], S any, A purekube.Action](
	r *run, snapshot func(*Set, answers) S, index func(S) X,
) error {
	found := answers{}
	for range rounds {
		x := index(snapshot(r.set, found))
		outcomes, err := outcomesOf[X, S, A](r, x, snapshot)
		if err != nil {
			return err
		}
		var needs []purekube.Need
		for _, o := range outcomes {
			needs = append(needs, o.Result.Needs...)
		}
		more, err := r.look(needs, found)
		if err != nil {
			return err
		}
		if !more {
			send(r, outcomes)
			return nil
		}
	}
	return fmt.Errorf("lookups are still open after %d plans", rounds)
}

func outcomesOf[X purekube.Index[X, S, A], S any, A purekube.Action](
	r *run, x X, snapshot func(*Set, answers) S,
) ([]purekube.Outcome[A], error) {
	s := r.scenario
	var keys []purekube.Key
	switch {
	case slices.Equal(s.Plan, []string{All}):
		outcomes, err := x.PlanAll()
		return outcomes, err
	case len(s.Plan) > 0:
		for _, text := range s.Plan {
			key, err := purekube.ParseKey(text)
			if err != nil {
				return nil, err
			}
			keys = append(keys, key)
		}
	default:
		// The changes come one after the other, as events do.
		next, affected := x.With(snapshot(r.set.Changed, nil))
		next, others := next.Without(snapshot(r.set.Gone, nil))
		x = next
		keys = slices.Concat(affected, others)
		slices.SortFunc(keys, purekube.Key.Compare)
		keys = slices.Compact(keys)
	}
	outcomes := make([]purekube.Outcome[A], 0, len(keys))
	for _, key := range keys {
		result, err := x.Plan(key)
		outcomes = append(outcomes, purekube.Outcome[A]{Key: key, Result: result, Err: err})
	}
	return outcomes, nil
}

// send plays the API server for the requests of the plans.
func send[A purekube.Action](r *run, outcomes []purekube.Outcome[A]) {
	for _, o := range outcomes {
		for _, e := range o.Result.Events {
			r.lines = append(r.lines, Event(e))
		}
		_, failed := purekube.CarryOut(o.Result.Actions, r.do, func(e purekube.Event) { r.lines = append(r.lines, Event(e)) })
		if o.Err != nil || failed != nil {
			r.lines = append(r.lines, Line{Head: "error " + o.Key.String(), Fields: problems(o.Err)})
		}
		if at := o.Result.RecheckAt; !at.IsZero() {
			r.lines = append(r.lines,
				Line{Head: "recheck " + o.Key.String(), Fields: map[string]any{"at": at.UTC().Format(time.RFC3339)}})
		}
	}
}

// Event is the line of an event.
func Event(e purekube.Event) Line {
	about := purekube.Key{Kind: e.Regarding.Kind, Namespace: e.Regarding.Namespace, Name: e.Regarding.Name}
	return Line{Head: fmt.Sprintf("event %s %s %s", e.Type, e.Reason, about), Fields: map[string]any{"message": e.Message}}
}

// problems are the objects and fields that an error is about.
func problems(err error) map[string]any {
	var about []any
	var walk func(error)
	walk = func(err error) {
		switch e := err.(type) { //nolint:errorlint // the tree itself is walked
		case *purekube.ObjectError:
			of := map[string]any{"object": purekube.Key{Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}.String()}
			if e.Field != "" {
				of["field"] = e.Field
			}
			about = append(about, of)
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				walk(inner)
			}
		case interface{ Unwrap() error }:
			walk(e.Unwrap())
		}
	}
	walk(err)
	if len(about) == 0 {
		return nil
	}
	return map[string]any{"about": about}
}

// do is one call to the API server of the scenario.
func (r *run) do(request purekube.Request) (runtime.Object, error) {
	line, answer, err := r.call(request)
	if err != nil {
		line = Line{Head: "error " + request.String(), Fields: map[string]any{"message": err.Error()}}
	}
	r.lines = append(r.lines, line)
	r.asked[line.Head] = true
	if code, rejected := r.scenario.Reject[line.Head]; rejected {
		return nil, Rejection(code)
	}
	return answer, err
}

// Rejection is the error of a request that the API server rejects with this status.
func Rejection(code int) error {
	reason := metav1.StatusReasonUnknown
	if code == http.StatusNotFound {
		reason = metav1.StatusReasonNotFound
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(
			code), Reason: reason, Message: "rejected by the scenario", //nolint:gosec // an HTTP status
	}}
}

// evictions answers the questions about pods that go.
func (r *run) evictions(index func(disruption.Snapshot) *disruption.Index) error {
	s, found := r.scenario, answers{}
	o := drain.Options{
		Budgets: drain.Budgets(s.Options.Budgets), IgnoreDaemonSets: s.Options.IgnoreDaemonSets,
		DeleteEmptyDirData: s.Options.DeleteEmptyDirData, Force: s.Options.Force, Nodes: r.set.Nodes,
	}
	for range rounds {
		x := index(r.budgets(r.set, found))
		var needs []purekube.Need
		var lines []Line
		switch {
		case len(s.Preempt) > 0:
			lines = preempted(x, Names(s.Preempt))
		case len(s.Evict) > 0:
			evictions, _, err := drain.Pods(x, Names(s.Evict), o)
			if err != nil {
				return err
			}
			for i, e := range evictions {
				needs = append(needs, e.Needs...)
				lines = append(lines, evicted(s.Evict[i], e, o.Budgets == drain.AsWritten)...)
			}
		case len(s.Waves) > 0:
			plan, _, err := drain.Waves(x, s.Waves, drain.WaveOptions{
				Options: o, MaxNodes: s.Options.MaxNodes, Rounds: s.Options.Rounds,
			})
			if err != nil {
				return err
			}
			for i, w := range plan.Waves {
				nodes := []any{}
				for _, n := range w.Nodes {
					nodes = append(nodes, n)
				}
				lines = append(lines, Line{Head: fmt.Sprint("wave ", i+1), Fields: map[string]any{"nodes": nodes}})
			}
			for _, d := range plan.Blocked {
				needs = append(needs, d.Needs...)
				lines = append(lines, Line{Head: "blocked " + d.Node, Fields: drained(d)})
			}
		default:
			drains, _, err := drain.Nodes(x, s.Drain, o)
			if err != nil {
				return err
			}
			for _, d := range drains {
				needs = append(needs, d.Needs...)
				lines = append(lines, Line{Head: "drain " + d.Node, Fields: drained(d)})
			}
		}
		more, err := r.look(needs, found)
		if err != nil {
			return err
		}
		if !more {
			r.lines = append(r.lines, lines...)
			return nil
		}
	}
	return fmt.Errorf("lookups are still open after %d answers", rounds)
}

// Names are the names of pods, "namespace/name".
func Names(list []string) (of []types.NamespacedName) {
	for _, text := range list {
		namespace, name, found := strings.Cut(text, "/")
		if !found {
			namespace, name = metav1.NamespaceDefault, text
		}
		of = append(of, types.NamespacedName{Namespace: namespace, Name: name})
	}
	return of
}

func preempted(x *disruption.Index, victims []types.NamespacedName) (lines []Line) {
	violating, allowed := drain.Violations(x, victims)
	for _, v := range violating {
		lines = append(lines, Line{Head: "preempt " + v.String(), Fields: map[string]any{"violation": true}})
	}
	for _, v := range allowed {
		lines = append(lines, Line{Head: "preempt " + v.String(), Fields: map[string]any{"violation": false}})
	}
	return lines
}

// evicted is the answer of the API server to an eviction, and, where the status that is written decides, what it writes
// to the budget.
func evicted(pod string, e disruption.Eviction, writes bool) (lines []Line) {
	answer := map[string]any{"code": float64(e.Verdict.StatusCode())}
	if len(e.Blocking) > 0 {
		answer["blocking"] = textsOf(e.Blocking)
	}
	lines = append(lines, Line{Head: "evict " + Names([]string{pod})[0].String(), Fields: answer})
	if b := e.Update; b != nil && writes {
		after := bare(fields(b))
		lines = append(lines,
			Line{Head: "update " + place("poddisruptionbudgets", "status", b.Namespace, b.Name), Fields: after})
	}
	return lines
}

// drained is how a node drains.
func drained(d drain.Drain) map[string]any {
	of := map[string]any{"outcome": string(d.Outcome)}
	var evicted []any
	for _, round := range d.Rounds {
		evicted = append(evicted, textsOf(round))
	}
	if evicted != nil {
		of["rounds"] = evicted
	}
	refused := map[string]any{}
	for _, p := range d.Refused {
		refused[p.Pod.String()] = string(p.Code)
	}
	if len(refused) > 0 {
		of["refused"] = refused
	}
	pending := map[string]any{}
	for _, p := range d.Pending {
		pending[p.Pod.String()] = p.Message
	}
	if len(pending) > 0 {
		of["pending"] = pending
	}
	return of
}

func textsOf(names []types.NamespacedName) []any {
	list := []any{}
	for _, n := range names {
		list = append(list, n.String())
	}
	return list
}
