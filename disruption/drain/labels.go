package drain

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// labels are the labels of the pod that takes the place of one that is gone. They come from the template, so labels
// that somebody gave the pod by hand are lost. Where the template is not known, they are the labels of the pod that is
// gone.
func (o *ownerState) labels(gone *corev1.Pod) map[string]string {
	var template map[string]string
	switch of := o.workload.(type) {
	case *appsv1.ReplicaSet:
		template = of.Spec.Template.Labels
	case *corev1.ReplicationController:
		if of.Spec.Template != nil {
			template = of.Spec.Template.Labels
		}
	case *appsv1.StatefulSet:
		if o.usesTemplate(of, gone) {
			template = of.Spec.Template.Labels
		}
	}
	if len(template) == 0 { // a selector has to match them, so a cache has left them out
		return gone.Labels
	}
	labels := maps.Clone(template)
	if _, set := o.workload.(*appsv1.StatefulSet); set {
		// The controller adds these. A pod of another revision has another hash, which no budget is expected to select.
		for _, key := range []string{appsv1.StatefulSetPodNameLabel, appsv1.PodIndexLabel, appsv1.StatefulSetRevisionLabel} {
			if value, has := gone.Labels[key]; has {
				labels[key] = value
			}
		}
	}
	return labels
}

// usesTemplate reports whether the StatefulSet makes the pod from its template, and not from an older revision, which
// is in a ControllerRevision (upstream: newVersionedStatefulSetPod in pkg/controller/statefulset). With OnDelete, each
// pod is made from the template.
func (o *ownerState) usesTemplate(set *appsv1.StatefulSet, gone *corev1.Pod) bool {
	if set.Status.CurrentRevision == set.Status.UpdateRevision {
		return true
	}
	n, _ := o.ordinal(gone)
	n -= o.first
	strategy := set.Spec.UpdateStrategy
	switch {
	case strategy.RollingUpdate != nil:
		return n >= int64(ptr.Deref(strategy.RollingUpdate.Partition, 0))
	case strategy.Type == appsv1.RollingUpdateStatefulSetStrategyType:
		return n >= int64(set.Status.CurrentReplicas)
	}
	return true
}
