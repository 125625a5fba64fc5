package purekubetest

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/internal/wholecluster"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// Snapshot is a snapshot of one of the five packages.
type Snapshot interface {
	servicecidr.Snapshot | resourceclaim.Snapshot | ttl.Snapshot | rbacaggregate.Snapshot | disruption.Snapshot
}

// Step is one write before the cluster is idle.
type Step struct {
	// Round counts the plans of the whole snapshot, from 1.
	Round int
	// At is the time of the round.
	At time.Time
	// Action is the write, and Text its line.
	Action purekube.Action
	Text   string
}

// String is the text.
func (s Step) String() string { return s.Text }

// maxRounds is far more than any snapshot needs: the longest way, aggregation of upstream's ClusterRoles, has a round
// for each level of aggregation.
const maxRounds = 100

// Converge plans the snapshot, applies the actions in memory and plans again, until nothing is left to do and no
// RecheckAt is left. It uses the default decisions. When nothing else is left to do, the clock moves to the next
// RecheckAt. Converge returns the snapshot after that, and the writes. It does not change the snapshot that you pass
// in.
//
// The snapshot is the whole cluster: a pod that is not in it does not exist. The test fails if a write is refused, if a
// plan has an error or a lookup that the snapshot does not answer, or if there is something to do after 100 rounds.
func Converge[S Snapshot](t testing.TB, snapshot S) (atRest S, steps []Step) {
	t.Helper()
	p := newPlay(t, any(snapshot))
	for round := 1; round <= maxRounds; round++ {
		outcomes, errs := p.plan()
		var next time.Time
		wrote := false
		for _, o := range outcomes {
			errs = append(errs, o.errs...)
			if len(o.needs) > 0 {
				t.Fatalf("%s: %v is not in the snapshot", o.key, o.needs)
			}
			if !o.recheckAt.IsZero() && (next.IsZero() || o.recheckAt.Before(next)) {
				next = o.recheckAt
			}
			n := 0
			if _, err := purekube.CarryOut(o.actions, func(r purekube.Request) (runtime.Object, error) {
				a := o.actions[n]
				n++
				steps = append(steps, Step{Round: round, At: p.now, Action: a, Text: a.String()})
				wrote = true
				return p.server.Do(r)
			}, nil); err != nil {
				t.Fatalf("%s: %v", o.key, err)
			}
		}
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
		switch {
		case wrote:
		case next.IsZero():
			return p.snapshot().(S), steps
		default:
			p.now = next
			p.server.Now = next
		}
	}
	last := steps[max(0, len(steps)-5):]
	t.Fatalf("still not idle after %d rounds; the last actions: %v", maxRounds, last)
	return atRest, steps
}

// outcome is a purekube.Outcome of any package.
type outcome struct {
	key       string
	actions   []purekube.Action
	needs     []purekube.Need
	recheckAt time.Time
	errs      []error
}

// outcomesOf forgets which package the outcomes are of.
func outcomesOf[A purekube.Action](from []purekube.Outcome[A]) []outcome {
	var all []outcome
	for _, o := range from {
		one := outcome{key: o.Key.String(), needs: o.Result.Needs, recheckAt: o.Result.RecheckAt, errs: []error{o.Err}}
		for _, a := range o.Result.Actions {
			one.actions = append(one.actions, a)
		}
		all = append(all, one)
	}
	return all
}

// play is a cluster in memory, with the questions of one package.
type play struct {
	server *apiserver.Server
	now    time.Time
	// plan plans the whole cluster as it is now, snapshot is what it is.
	plan     func() ([]outcome, []error)
	snapshot func() any
}

func newPlay(t testing.TB, of any) *play {
	t.Helper()
	p := &play{server: apiserver.New()}
	switch s := of.(type) {
	case servicecidr.Snapshot:
		p.now = s.Now
		put(t, p.server, s.ServiceCIDRs)
		put(t, p.server, s.IPAddresses)
		p.snapshot = func() any {
			return servicecidr.Snapshot{
				Now: p.now, ServiceCIDRs: apiserver.List[networkingv1.ServiceCIDR](p.server),
				IPAddresses: apiserver.List[networkingv1.IPAddress](p.server),
			}
		}
		p.plan = func() ([]outcome, []error) {
			outcomes, err := servicecidr.PlanAll(p.snapshot().(servicecidr.Snapshot), servicecidr.Options{})
			return outcomesOf(outcomes), []error{err}
		}
	case resourceclaim.Snapshot:
		p.now = s.Now
		put(t, p.server, s.Pods)
		put(t, p.server, s.Claims)
		put(t, p.server, s.Templates)
		p.snapshot = func() any {
			return resourceclaim.Snapshot{
				Now: p.now, Pods: apiserver.List[corev1.Pod](p.server), Claims: apiserver.List[resourcev1.ResourceClaim](p.server),
				Templates: apiserver.List[resourcev1.ResourceClaimTemplate](p.server), Deleted: s.Deleted,
			}
		}
		p.plan = func() ([]outcome, []error) {
			snapshot := p.snapshot().(resourceclaim.Snapshot)
			snapshot.Answers = wholecluster.Answers(snapshot.Pods, snapshot.Claims)
			outcomes, err := resourceclaim.PlanAll(snapshot, resourceclaim.Options{})
			return outcomesOf(outcomes), []error{err}
		}
	case ttl.Snapshot:
		put(t, p.server, s.Nodes)
		step := s.Step
		p.snapshot = func() any { return ttl.Snapshot{Step: step, Nodes: apiserver.List[corev1.Node](p.server)} }
		p.plan = func() ([]outcome, []error) {
			x := ttl.NewIndex(p.snapshot().(ttl.Snapshot), ttl.Options{})
			outcomes, err := x.PlanAll()
			step = x.Step()
			return outcomesOf(outcomes), []error{err}
		}
	case rbacaggregate.Snapshot:
		put(t, p.server, s.ClusterRoles)
		p.snapshot = func() any {
			return rbacaggregate.Snapshot{ClusterRoles: apiserver.List[rbacv1.ClusterRole](p.server)}
		}
		p.plan = func() ([]outcome, []error) {
			outcomes, err := rbacaggregate.PlanAll(p.snapshot().(rbacaggregate.Snapshot), rbacaggregate.Options{})
			return outcomesOf(outcomes), []error{err}
		}
	case disruption.Snapshot:
		p.now = s.Now
		put(t, p.server, s.Budgets)
		put(t, p.server, s.Pods)
		put(t, p.server, s.ReplicationControllers)
		put(t, p.server, s.ReplicaSets)
		put(t, p.server, s.Deployments)
		put(t, p.server, s.StatefulSets)
		p.snapshot = func() any {
			return disruption.Snapshot{
				Now: p.now, Budgets: apiserver.List[policyv1.PodDisruptionBudget](p.server),
				Pods:                   apiserver.List[corev1.Pod](p.server),
				ReplicationControllers: apiserver.List[corev1.ReplicationController](p.server),
				ReplicaSets:            apiserver.List[appsv1.ReplicaSet](p.server),
				Deployments:            apiserver.List[appsv1.Deployment](p.server),
				StatefulSets:           apiserver.List[appsv1.StatefulSet](p.server),
				Answers:                s.Answers,
			}
		}
		p.plan = func() ([]outcome, []error) {
			outcomes, err := disruption.PlanAll(p.snapshot().(disruption.Snapshot), disruption.Options{})
			return outcomesOf(outcomes), []error{err}
		}
	}
	p.server.Now = p.now
	return p
}

func put[T apiserver.Object](t testing.TB, server *apiserver.Server, objects []T) {
	t.Helper()
	for _, o := range objects {
		if any(o) == any(*new(T)) {
			t.Fatal("a nil object in the snapshot")
		}
		server.Put(o)
	}
}
