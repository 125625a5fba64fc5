package controller_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"

	"github.com/purekube/purekube/examples/manager/controller"
)

// While a watch is interrupted one object can go and another one of its name come: the informer calls that an update.
func TestReplacedObjectIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := func(uid types.UID) *corev1.Pod {
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: uid}}
		}
		client := fake.NewClientset(pod("1"))
		factory := informers.NewSharedInformerFactory(client, 0)
		c := controller.New("test", &cell{}, &server{}, record.NewFakeRecorder(10), controller.Options[*cell, state, string]{Begin: held})
		var gone []types.UID
		controller.Watch(c, factory.Core().V1().Pods().Informer(), func(o *corev1.Pod) state { return state{held: []string{string(o.UID)}} },
			func(o *corev1.Pod) { gone = append(gone, o.UID) })
		stop := make(chan struct{})
		factory.Start(stop)
		synctest.Wait()
		_, err := client.CoreV1().Pods("ns").Update(t.Context(), pod("2"), metav1.UpdateOptions{})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, []types.UID{"1"}, gone)
		c.Update(func(x *cell) (*cell, []string) {
			require.Equal(t, []string{"2"}, x.held)
			return x, nil
		})
		close(stop)
		c.Run(t.Context(), stop, 1) // ends its queues
		factory.Shutdown()
	})
}
