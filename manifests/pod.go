package manifests

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// fill makes the pods that a workload with so many replicas lacks.
func (f *filler) fill(w workload, replicas int) {
	lacking, ordinal := replicas-len(f.active[w.controller()]), 0
	if lacking <= 0 {
		return
	}
	nodes, ok := f.nodesFor(w)
	if !ok {
		return
	}
	for range lacking {
		f.place(f.pod(w, f.free(w, "", &ordinal)), nodes)
	}
}

// free is a name for a pod of the workload: this one, or one with the next ordinal that no pod has.
func (f *filler) free(w workload, name string, ordinal *int) string {
	for name == "" || f.taken[purekube.Key{Kind: Pod.Kind, Namespace: w.key.Namespace, Name: name}] {
		name = fmt.Sprintf("%s-%05d", w.key.Name, *ordinal)
		*ordinal++
	}
	return name
}

// pod is a running and ready pod of the workload's template, without a node.
func (f *filler) pod(w workload, name string) *corev1.Pod {
	template := w.template.DeepCopy()
	p := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	p.Namespace, p.Name, p.GenerateName = w.key.Namespace, name, ""
	p.UID = types.UID(key(Pod, p).String())
	p.Labels = withLabels(p.Labels, w.labels)
	p.OwnerReferences = controlledBy(w)
	p.Status.Phase = corev1.PodRunning
	for _, condition := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady,
		corev1.PodReady} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue})
	}
	for _, gate := range p.Spec.ReadinessGates {
		p.Status.Conditions = append(p.Status.Conditions,
			corev1.PodCondition{Type: gate.ConditionType, Status: corev1.ConditionTrue})
	}
	return p
}

// place puts the pod on the next of the nodes and into the set.
func (f *filler) place(p *corev1.Pod, nodes []*corev1.Node) {
	if len(nodes) > 0 {
		p.Spec.NodeName = nodes[f.next%len(nodes)].Name
		f.next++
	}
	f.made++
	f.taken[key(Pod, p)] = true
	f.set.Pods = append(f.set.Pods, p)
}

func controlledBy(w workload) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: w.apiVersion, Kind: w.key.Kind, Name: w.key.Name, UID: w.uid, Controller: ptr.To(true),
		BlockOwnerDeletion: ptr.To(true),
	}}
}

// withLabels is a new map with both.
func withLabels(labels, more map[string]string) map[string]string {
	all := make(map[string]string, len(labels)+len(more))
	maps.Copy(all, labels)
	maps.Copy(all, more)
	return all
}

// templateHash is a part of a ReplicaSet's name that differs for different templates.
func templateHash(t *corev1.PodTemplateSpec) string {
	text, err := json.Marshal(t)
	if err != nil {
		text = nil // API objects always marshal
	}
	h := fnv.New32a()
	_, _ = h.Write(text)
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
}
