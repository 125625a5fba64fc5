package fleet

import (
	"context"
	"sync"

	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/replication"
	"k8s.io/kubernetes/pkg/controller/statefulset"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/upstream/parity"
)

// startAll builds the real controllers, with one worker each. The disruption controller finds these scales.
func startAll(scales map[purekube.Need]purekube.Answer) parity.Start {
	return func(ctx context.Context, w *parity.World) (func(context.Context), error) {
		return build(ctx, w, scales)
	}
}

func build(
	ctx context.Context, w *parity.World, scales map[purekube.Need]purekube.Answer,
) (func(context.Context), error) {
	pods, replicaSets := w.Informers.Core().V1().Pods(), w.Informers.Apps().V1().ReplicaSets()
	statefulSets, deployments := w.Informers.Apps().V1().StatefulSets(), w.Informers.Apps().V1().Deployments()

	disruption, err := parity.StartDisruption(parity.ScalesIn(scales))(ctx, w)
	if err != nil {
		return nil, err
	}
	d, err := deployment.NewDeploymentController(ctx, deployments, replicaSets, pods, w.Client)
	if err != nil {
		return nil, err
	}
	// Its PodGroups are behind a feature that is off.
	j, err := job.NewController(ctx, w.Client, pods, w.Informers.Batch().V1().Jobs(), nil, nil)
	if err != nil {
		return nil, err
	}
	run := []func(context.Context, int){
		func(ctx context.Context, _ int) { disruption(ctx) },
		d.Run, j.Run,
		replicaset.NewReplicaSetController(ctx, replicaSets, pods, w.Client, replicaset.BurstReplicas).Run,
		replication.NewReplicationManager(ctx, pods, w.Informers.Core().V1().ReplicationControllers(), w.Client,
			replication.BurstReplicas).Run,
		statefulset.NewStatefulSetController(ctx, pods, statefulSets, w.Informers.Core().V1().PersistentVolumeClaims(),
			w.Informers.Apps().V1().ControllerRevisions(), w.Client).Run,
	}
	return func(ctx context.Context) {
		var running sync.WaitGroup
		for _, controller := range run {
			running.Go(func() { controller(ctx, 1) })
		}
		running.Wait()
	}, nil
}
