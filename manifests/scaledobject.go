package manifests

import (
	"strconv"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// ScaledObject is an object of keda.sh/v1alpha1, as far as it says how many replicas a workload has: KEDA scales the
// workload to zero and back, and makes a HorizontalPodAutoscaler for everything above. Its triggers are not read.
type ScaledObject struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	// At is where the object is in the input.
	At Ref
	// Target is spec.scaleTargetRef. Kind is Deployment and APIVersion apps/v1 where it names neither.
	Target autoscalingv2.CrossVersionObjectReference
	// MinReplicaCount, MaxReplicaCount and IdleReplicaCount are as in the spec. Nil: not set.
	MinReplicaCount  *int32
	MaxReplicaCount  *int32
	IdleReplicaCount *int32
}

// scaledObjectKind is the only version that KEDA has.
var scaledObjectKind = schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"}

// The annotations that stop KEDA from scaling, and kedaMaxReplicas: KEDA's default of maxReplicaCount.
const (
	kedaPaused         = "autoscaling.keda.sh/paused"
	kedaPausedReplicas = "autoscaling.keda.sh/paused-replicas"
	kedaMaxReplicas    = 100
)

// scaledObject reads a ScaledObject. It is nil for one that KEDA's definition of the kind does not allow.
func scaledObject(is metav1.TypeMeta, raw []byte) *ScaledObject {
	var text struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			Target           autoscalingv2.CrossVersionObjectReference `json:"scaleTargetRef"`
			MinReplicaCount  *int32                                    `json:"minReplicaCount"`
			MaxReplicaCount  *int32                                    `json:"maxReplicaCount"`
			IdleReplicaCount *int32                                    `json:"idleReplicaCount"`
		} `json:"spec"`
	}
	err := json.Unmarshal(raw, &text)
	if err != nil || text.Metadata.Name == "" || text.Spec.Target.Name == "" {
		return nil
	}
	o := &ScaledObject{
		TypeMeta: is, ObjectMeta: text.Metadata, Target: text.Spec.Target,
		MinReplicaCount:  text.Spec.MinReplicaCount,
		MaxReplicaCount:  text.Spec.MaxReplicaCount,
		IdleReplicaCount: text.Spec.IdleReplicaCount,
	}
	if o.Target.Kind == "" {
		o.Target.Kind = Deployment.Kind
	}
	if o.Target.APIVersion == "" {
		o.Target.APIVersion = versionOf[Deployment.Kind].String()
	}
	return o
}

// target is the workload that KEDA scales.
func (o *ScaledObject) target() purekube.Key {
	return purekube.Key{Kind: o.Target.Kind, Namespace: o.Namespace, Name: o.Target.Name}
}

// Replicas are bounds of the replicas that KEDA gives a workload.
type Replicas struct {
	// Idle is how many there are while no trigger is active. It may be 0.
	Idle int32
	// Least is the minimum while there are any replicas, and Most the maximum.
	Least, Most int32
}

// Replicas are the bounds that the ScaledObject sets. It returns false where KEDA does not scale the workload: the
// object is paused, or KEDA rejects its numbers. Then the workload keeps the replicas that it has.
//
// With the annotation autoscaling.keda.sh/paused-replicas, the number there is all three. KEDA reads
// autoscaling.keda.sh/paused as true unless its value is false.
func (o *ScaledObject) Replicas() (bounds Replicas, scales bool) {
	if text, found := o.Annotations[kedaPausedReplicas]; found {
		n, err := strconv.ParseInt(text, 10, 32)
		return Replicas{int32(n), int32(n), int32(n)}, err == nil && n >= 0 //nolint:gosec // parsed as 32 bits
	}
	if text, found := o.Annotations[kedaPaused]; found {
		if on, err := strconv.ParseBool(text); on || err != nil {
			return Replicas{}, false
		}
	}
	lowest := ptr.Deref(o.MinReplicaCount, 0)
	bounds = Replicas{Idle: lowest, Least: max(1, lowest), Most: ptr.Deref(o.MaxReplicaCount, kedaMaxReplicas)}
	valid := lowest >= 0 && bounds.Least <= bounds.Most
	if o.IdleReplicaCount != nil {
		// KEDA rejects a number that is not smaller than minReplicaCount, where 0 counts as 1, and any number if that is
		// not set.
		valid = valid && o.MinReplicaCount != nil && *o.IdleReplicaCount >= 0 && *o.IdleReplicaCount < bounds.Least
		bounds.Idle = *o.IdleReplicaCount
		if bounds.Idle > 0 {
			bounds.Least = bounds.Idle
		}
	}
	return bounds, valid
}

// wider are bounds within which both are.
func (r Replicas) wider(other Replicas) Replicas {
	return Replicas{min(r.Idle, other.Idle), min(r.Least, other.Least), max(r.Most, other.Most)}
}

// scaledReplicas are the bounds that ScaledObjects set, by workload: the widest, where a workload has several.
func (s *Set) scaledReplicas() map[purekube.Key]Replicas {
	all := map[purekube.Key]Replicas{}
	for _, o := range s.ScaledObjects {
		if o == nil {
			continue
		}
		bounds, scales := o.Replicas()
		if !scales {
			continue
		}
		if other, found := all[o.target()]; found {
			bounds = bounds.wider(other)
		}
		all[o.target()] = bounds
	}
	return all
}
