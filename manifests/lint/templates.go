package lint

import (
	"iter"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/manifests"
)

// source is an object that pods are made from, or a pod.
type source struct {
	key      purekube.Key
	template *corev1.PodTemplateSpec
	// path is where the template is in the object.
	path string
	// replicas is how many pods the manifest asks for. Nil: that depends on nodes or on the time.
	replicas *int32
}

// sources are the objects that pods are made from. An object that another one controls is left out.
func sources(set *manifests.Set) iter.Seq[source] {
	return func(yield func(source) bool) {
		for _, o := range set.Objects() {
			key := manifests.KeyOf(o)
			if key == (purekube.Key{}) || metav1.GetControllerOfNoCopy(o) != nil {
				continue
			}
			s := sourceOf(o)
			s.key = key
			if s.template != nil && !yield(s) {
				return
			}
		}
	}
}

const templatePath = "spec.template"

func sourceOf(o manifests.Object) source {
	switch o := o.(type) {
	case *corev1.Pod:
		return source{template: &corev1.PodTemplateSpec{ObjectMeta: o.ObjectMeta, Spec: o.Spec}}
	case *corev1.ReplicationController:
		return source{template: o.Spec.Template, path: templatePath, replicas: scale(o.Spec.Replicas)}
	case *appsv1.ReplicaSet:
		return source{template: &o.Spec.Template, path: templatePath, replicas: scale(o.Spec.Replicas)}
	case *appsv1.Deployment:
		return source{template: &o.Spec.Template, path: templatePath, replicas: scale(o.Spec.Replicas)}
	case *appsv1.StatefulSet:
		return source{template: &o.Spec.Template, path: templatePath, replicas: scale(o.Spec.Replicas)}
	case *appsv1.DaemonSet:
		return source{template: &o.Spec.Template, path: templatePath}
	case *batchv1.Job:
		return source{template: &o.Spec.Template, path: templatePath}
	case *batchv1.CronJob:
		return source{template: &o.Spec.JobTemplate.Spec.Template, path: "spec.jobTemplate.spec.template"}
	}
	return source{}
}

func scale(replicas *int32) *int32 { return ptr.To(ptr.Deref(replicas, 1)) }

// pod is a running pod of the source.
func (s source) pod() *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.key.Namespace, Name: s.key.Name + "-of-" + s.key.Kind, Labels: maps.Clone(s.template.Labels),
	}}
	owner := metav1.OwnerReference{APIVersion: "batch/v1", Kind: s.key.Kind, Name: s.key.Name, Controller: ptr.To(true)}
	switch s.key.Kind {
	case manifests.DaemonSet.Kind:
		owner.APIVersion = "apps/v1"
	case manifests.CronJob.Kind:
		owner.Kind = manifests.Job.Kind // its Jobs have their own names
	}
	p.OwnerReferences = []metav1.OwnerReference{owner}
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return p
}
