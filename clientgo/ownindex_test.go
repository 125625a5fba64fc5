package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/rbacaggregate"
)

// newAggregation returns a controller of aggregated ClusterRoles. If Watch fails, Run of the controller returns the error.
func newAggregation(c clientgo.Cluster) (clientgo.Runner, error) {
	type S = rbacaggregate.Snapshot
	index := rbacaggregate.NewIndex(S{}, rbacaggregate.Options{})
	controller, err := clientgo.NewController("my-aggregation", index, c, clientgo.Options[*rbacaggregate.Index, S]{})
	if err != nil {
		return nil, err
	}
	clientgo.Watch(controller, func(o *rbacv1.ClusterRole) S { return S{ClusterRoles: []*rbacv1.ClusterRole{o}} })
	return controller, nil
}

// The controller of docs/controller.md for an Index plans, and its Run returns what is wrong with its informers.
func TestControllerForAnIndexOfThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := purekubetest.ClusterRole("team", rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}})
		source.Labels = map[string]string{"to-view": "true"}
		client := fake.NewClientset(purekubetest.AggregatedRole("view", "to-view"), source)
		factory := informers.NewSharedInformerFactory(client, 0)
		var planned []string
		c, err := newAggregation(clientgo.Cluster{
			Informers: clientgo.FromFactory(factory), Client: clientgo.DryRun{}, Workers: 1,
			Hooks: clientgo.Hooks{OnAction: func(r clientgo.ActionResult) { planned = append(planned, r.Key.String()) }},
		})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		factory.Start(ctx.Done())
		require.NoError(t, c.Run(ctx))
		factory.Shutdown()
		require.Contains(t, planned, "ClusterRole/view")
	})

	gone := errors.New("no such informer")
	none := func(runtime.Object) (clientgo.Informer, error) { return nil, gone }
	c, err := newAggregation(clientgo.Cluster{Informers: none, Client: clientgo.DryRun{}})
	require.NoError(t, err)
	require.ErrorIs(t, c.Run(t.Context()), gone)
}

// Each informer that cannot be had is named.
func TestEachWatchThatFailsIsNamed(t *testing.T) {
	none := func(o runtime.Object) (clientgo.Informer, error) { return nil, fmt.Errorf("no informer of %T", o) }
	c, err := clientgo.NewController("test", &cell{}, clientgo.Cluster{Informers: none, Client: clientgo.DryRun{}}, clientgo.Options[*cell, state]{})
	require.NoError(t, err)
	clientgo.Watch(c, func(*corev1.Node) state { return state{} })
	clientgo.Watch(c, func(*corev1.Pod) state { return state{} })
	err = c.Run(t.Context())
	require.ErrorContains(t, err, "no informer of *v1.Node")
	require.ErrorContains(t, err, "no informer of *v1.Pod")
}
