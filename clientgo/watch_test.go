package clientgo_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/clientgo"
)

// While a watch is interrupted one object can go and another one of its name come: the informer calls that an update.
func TestReplacedObjectIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := func(uid types.UID) *corev1.Pod {
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: uid}}
		}
		client := fake.NewClientset(pod("1"))
		factory := informers.NewSharedInformerFactory(client, 0)
		c := newController(t, nil, &server{}, clientgo.FromFactory(factory), options{})
		var gone []types.UID
		clientgo.Watch(c, func(o *corev1.Pod) state { return state{held: []string{string(o.UID)}} },
			func(o *corev1.Pod) { gone = append(gone, o.UID) })
		stop := make(chan struct{})
		factory.Start(stop)
		synctest.Wait()
		_, err := client.CoreV1().Pods("ns").Update(t.Context(), pod("2"), metav1.UpdateOptions{})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, []types.UID{"1"}, gone)
		c.Update(func(x *cell) (*cell, []purekube.Key) {
			require.Equal(t, []string{"2"}, x.held)
			return x, nil
		})
		close(stop)
		c.Stop()
		require.NoError(t, c.Run(t.Context())) // ends its queues
		factory.Shutdown()
	})
}
