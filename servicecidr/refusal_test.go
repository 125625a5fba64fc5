package servicecidr_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/servicecidr"
)

// clusterOf is the snapshot of a server.
func clusterOf(server *apiserver.Server) servicecidr.Snapshot {
	return servicecidr.Snapshot{
		Now:          now,
		ServiceCIDRs: apiserver.List[networkingv1.ServiceCIDR](server),
		IPAddresses:  apiserver.List[networkingv1.IPAddress](server),
	}
}

// execute makes the calls of a plan: none after one that failed, unless its Request says ContinueOnError. It
// returns the calls that succeeded and the events of those that did not.
func execute(server *apiserver.Server, r servicecidr.Result) (made []string, events []string) {
	var done []runtime.Object
	for _, a := range r.Actions {
		request := a.Request(done)
		object, err := server.Do(request)
		done = append(done, object)
		if err == nil {
			made = append(made, a.String())
			continue
		}
		if f, ok := a.(purekube.FailureReporter); ok {
			if e, ok := f.FailureEvent(err); ok {
				events = append(events, e.Reason)
			}
		}
		if !request.ContinueOnError {
			break
		}
	}
	return made, events
}

// Each action is refused in turn. What depends on it does not happen, what does not depend on it
// does, and once nothing is refused any more the cluster comes to rest.
func TestARefusedWriteHoldsBackOnlyWhatDependsOnIt(t *testing.T) {
	refused := errors.New("refused")
	for _, tc := range []struct {
		name, reason string
		refuse       func(purekube.Request) bool
		made         []string
		events       []string
	}{
		{"nothing", "everything is written", func(purekube.Request) bool { return false },
			[]string{"SetCondition blocked: Ready=False Terminating", "RemoveFinalizer free", "AddFinalizer new", "SetCondition new: Ready=True"}, nil},
		{"AddFinalizer", "without the finalizer it is not Ready; the other ServiceCIDRs do not depend on it",
			func(r purekube.Request) bool { return r.Name == "new" && r.Subresource == "" },
			[]string{"SetCondition blocked: Ready=False Terminating", "RemoveFinalizer free"}, nil},
		{"SetCondition Ready=True", "the finalizer is there all the same, and an event says why it is not Ready",
			func(r purekube.Request) bool { return r.Name == "new" && r.Subresource == "status" },
			[]string{"SetCondition blocked: Ready=False Terminating", "RemoveFinalizer free", "AddFinalizer new"}, []string{"KubernetesServiceCIDRError"}},
		{"SetCondition Ready=False", "upstream records no event for it", func(r purekube.Request) bool { return r.Name == "blocked" },
			[]string{"RemoveFinalizer free", "AddFinalizer new", "SetCondition new: Ready=True"}, nil},
		{"RemoveFinalizer", "the others do not depend on it", func(r purekube.Request) bool { return r.Name == "free" },
			[]string{"SetCondition blocked: Ready=False Terminating", "AddFinalizer new", "SetCondition new: Ready=True"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := apiserver.New(
				cidr("new", of("10.1.0.0/24"), finalizers(), conditions()),
				cidr("blocked", of("10.2.0.0/24"), deletedAt(longAgo)),
				cidr("free", of("10.3.0.0/24"), deletedAt(longAgo)),
				ip("10.2.0.7"),
			)
			server.Refuse = func(r purekube.Request) error {
				if tc.refuse(r) {
					return refused
				}
				return nil
			}
			var made, events []string
			round := func() (outcomes []servicecidr.Outcome) {
				outcomes, err := servicecidr.PlanAll(clusterOf(server), careful)
				require.NoError(t, err)
				for _, o := range outcomes {
					m, e := execute(server, o.Result)
					made, events = append(made, m...), append(events, e...)
				}
				return outcomes
			}
			round()
			require.Equal(t, tc.made, made, tc.reason)
			require.Equal(t, tc.events, events, tc.reason)

			server.Refuse = nil
			round()
			require.Empty(t, round(), "at rest")
			require.Len(t, clusterOf(server).ServiceCIDRs, 2, "free is gone")
		})
	}
}

// A ServiceCIDR that was deleted and made again since the plan is not written to: the API server
// refuses, and the next plan is for the new one.
func TestD3_D26_ANewObjectOfTheNameIsNotWrittenTo(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		addresses    []string
		action       string
	}{
		{"D-3", "the finalizer of the new one stays", nil, "RemoveFinalizer x"},
		{"D-26", "the new one is not Terminating", []string{"10.0.0.7"}, "SetCondition x: Ready=False Terminating"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			gone := cidr("x", of("10.0.0.0/24"), deletedAt(longAgo))
			r, err := servicecidr.Plan(snapshotOf(cidrs(gone), tc.addresses...), servicecidr.Key("x"), careful)
			require.NoError(t, err)
			require.Len(t, r.Actions, 1)
			require.Equal(t, tc.action, r.Actions[0].String())

			renewed := cidr("x", of("10.0.0.0/24"))
			renewed.UID = "another"
			server := apiserver.New(renewed)
			before := clusterOf(server).ServiceCIDRs
			made, _ := execute(server, r)
			require.Empty(t, made, tc.reason)
			require.Equal(t, before, clusterOf(server).ServiceCIDRs, tc.reason)

			asUpstream, err := servicecidr.Plan(snapshotOf(cidrs(gone), tc.addresses...), servicecidr.Key("x"), upstream)
			require.NoError(t, err)
			made, _ = execute(server, asUpstream)
			require.Len(t, made, 1, "upstream writes to whatever has the name")
		})
	}
}

// D-25: what is not protected covers nothing, until its own plan has given it the finalizer. So the
// one that relies on it waits for one round and then goes.
func TestD25_ConvergesOnceTheFinalizerIsThere(t *testing.T) {
	server := apiserver.New(
		cidr("leaving", of("10.0.0.0/24"), deletedAt(longAgo)),
		cidr("new", of("10.0.0.0/16"), finalizers()),
		ip("10.0.0.7"),
	)
	s := clusterOf(server)
	r, err := servicecidr.Plan(s, servicecidr.Key("leaving"), careful)
	require.NoError(t, err)
	made, _ := execute(server, r)
	require.Equal(t, []string{"SetCondition leaving: Ready=False Terminating"}, made, "new may be gone at any moment")

	r, err = servicecidr.Plan(clusterOf(server), servicecidr.Key("new"), careful)
	require.NoError(t, err)
	made, _ = execute(server, r)
	require.Equal(t, []string{"AddFinalizer new"}, made)

	oldObj, after := s.ServiceCIDRs[1], clusterOf(server)
	require.Equal(t, keys("leaving", "new"), affectedByServiceCIDR(t, after, oldObj, after.ServiceCIDRs[1], careful), "the finalizer brings leaving back")
	r, err = servicecidr.Plan(after, servicecidr.Key("leaving"), careful)
	require.NoError(t, err)
	made, _ = execute(server, r)
	require.Equal(t, []string{"RemoveFinalizer leaving"}, made)
	outcomes, err := servicecidr.PlanAll(clusterOf(server), careful)
	require.NoError(t, err)
	require.Empty(t, outcomes)
	require.Equal(t, []string{"10.0.0.7"}, coveredAddresses(clusterOf(server)))
}
