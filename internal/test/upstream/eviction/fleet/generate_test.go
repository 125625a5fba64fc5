package fleet

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsdefaults "k8s.io/kubernetes/pkg/apis/apps/v1"
	batchdefaults "k8s.io/kubernetes/pkg/apis/batch/v1"
	coredefaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/test/upstream/eviction"
)

// maker fills a cluster at random.
type maker struct {
	*cluster
	r    *rand.Rand
	apps int
	// bad is one pod in how many that is not ready.
	bad int
	// plain: no Jobs and nothing else that takes time.
	plain bool
	jobs  []*batchv1.Job
	// tight: pods need room on a node, and some find none.
	tight bool
	// slow: budgets that let a few pods go at a time, of workloads with many.
	slow bool
}

func (m *maker) oneIn(n int) bool { return m.r.IntN(n) == 0 }

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// fill makes workloads, lets the real controllers make their pods, and then has a few of these in every state that a
// pod can be in.
func (m *maker) fill() {
	m.began = time.Now()
	nodes := pick(m.r, 2, 3, 3, 4, 6, 10)
	m.apps = 1 + m.r.IntN(5)
	if m.oneIn(20) {
		nodes, m.apps = 20+m.r.IntN(31), 10+m.r.IntN(21)
	}
	for i := range nodes {
		m.nodes = append(m.nodes, fmt.Sprintf("node-%02d", i))
	}
	if m.tight {
		m.machine()
	}
	m.crowded = m.oneIn(2)
	m.bad = pick(m.r, 3, 6, 6, 20)
	m.plain = m.tight || m.oneIn(3)
	if m.slow = m.oneIn(2) || m.tight; m.slow {
		m.bad = pick(m.r, 10, 20, 1000)
	}
	for i := range m.apps {
		m.workload(fmt.Sprintf("w%d", i))
	}
	for i := range pick(m.r, 0, 1, 1, 1, 2, 2, 3) + m.apps/6 {
		m.budget(fmt.Sprintf("budget-%d", i))
	}
	m.converge()
	for _, pod := range m.sorted() {
		m.disturb(pod)
	}
	// A Job that failed deletes its pods.
	for m.converge(); m.stop(); m.converge() {
	}
}

// machine makes the objects of the nodes.
func (m *maker) machine() {
	m.filters = eviction.KubeSchedulerFilters(m.t)
	for i, name := range m.nodes {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": []string{"a", "b"}[i%2]}}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		n.Status.Allocatable = corev1.ResourceList{
			corev1.ResourcePods: resource.MustParse(pick(m.r, "3", "5", "110", "110")),
			corev1.ResourceCPU:  resource.MustParse(pick(m.r, "2", "4", "4", "8", "16")),
		}
		if m.oneIn(8) {
			n.Spec.Taints = []corev1.Taint{{Key: "spot", Effect: corev1.TaintEffectNoSchedule}}
		}
		m.machines = append(m.machines, n)
	}
}

func (m *maker) namespace() string { return pick(m.r, "ns", "ns", "ns", "ns", "other") }

func (m *maker) workload(name string) {
	replicas := pick[int32](m.r, 0, 1, 1, 2, 3, 4, 6)
	labels := map[string]string{"app": name, "tier": pick(m.r, "front", "front", "back")}
	if m.slow {
		replicas = pick[int32](m.r, 1, 3, 4, 6)
	}
	meta := metav1.ObjectMeta{
		Namespace: m.namespace(), Name: name, UID: types.UID("uid-" + name), Generation: 1,
		CreationTimestamp: metav1.Now(),
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: m.spec()}
	var minReady int32
	if !m.plain && m.oneIn(4) {
		minReady = 20
		m.timers = true
	}
	switch m.r.IntN(14) {
	case 0, 1, 2:
		d := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: selector, Template: template, MinReadySeconds: minReady,
		}}
		// No deadline: the controller looks every five milliseconds after it, while pods are not ready.
		d.Spec.ProgressDeadlineSeconds = ptr.To[int32](math.MaxInt32)
		appsdefaults.SetObjectDefaults_Deployment(d)
		m.put(d)
	case 3:
		rs := &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: selector, Template: template,
		}}
		appsdefaults.SetObjectDefaults_ReplicaSet(rs)
		m.put(rs)
	case 4, 5, 6, 7:
		set := &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: selector, Template: template, MinReadySeconds: minReady,
			PodManagementPolicy: pick(m.r, "", appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement),
		}}
		if m.oneIn(4) {
			set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: int32(1 + m.r.IntN(9))}
		}
		appsdefaults.SetObjectDefaults_StatefulSet(set)
		m.put(set)
	case 8:
		rc := &corev1.ReplicationController{ObjectMeta: meta,
			Spec: corev1.ReplicationControllerSpec{Replicas: &replicas, Selector: selector.MatchLabels, Template: &template}}
		coredefaults.SetObjectDefaults_ReplicationController(rc)
		m.put(rc)
	case 9, 10:
		if m.plain {
			return
		}
		m.timers = true
		template.Spec.RestartPolicy = corev1.RestartPolicyNever
		job := &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{
			Parallelism: &replicas, Selector: selector, Template: template, ManualSelector: ptr.To(true),
			Completions:  pick(m.r, nil, ptr.To(replicas), ptr.To(replicas+2)),
			BackoffLimit: pick(m.r, nil, ptr.To[int32](0), ptr.To[int32](1)),
		}}
		batchdefaults.SetObjectDefaults_Job(job)
		m.put(job)
		m.jobs = append(m.jobs, job)
	case 11:
		if m.oneIn(2) {
			m.bare(meta, labels, len(m.nodes), m.daemonSet(meta))
		} else {
			m.widget(meta, labels, replicas)
		}
	case 12:
		m.bare(meta, labels, int(replicas), nil)
	case 13:
		// Nodes own the pods that kubelets run from files.
		m.bare(meta, labels, int(replicas), &metav1.OwnerReference{
			APIVersion: "v1", Kind: "Node", Name: "node", UID: "uid-node", Controller: ptr.To(true),
		})
	}
}

func (m *maker) spec() corev1.PodSpec {
	s := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}
	if m.oneIn(12) {
		s.Volumes = []corev1.Volume{{
			Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
		}}
	}
	if !m.tight {
		return s
	}
	c := &s.Containers[0]
	c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(pick(m.r, "0", "1", "1", "2"))}
	if m.oneIn(4) {
		s.NodeSelector = map[string]string{"zone": pick(m.r, "a", "b")}
	}
	if m.oneIn(4) {
		s.Tolerations = []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}}
	}
	if m.oneIn(8) {
		c.Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80, Protocol: corev1.ProtocolTCP}}
	}
	return s
}

func (m *maker) daemonSet(meta metav1.ObjectMeta) *metav1.OwnerReference {
	apiVersion := "apps/v1"
	if m.oneIn(4) {
		// kubectl drain does not know it, and nothing makes its pods again.
		apiVersion = "apps.kruise.io/v1alpha1"
		m.answers[purekube.Need{
			APIVersion: apiVersion, Kind: "DaemonSet", Namespace: meta.Namespace, Name: meta.Name, Subresource: "scale",
		}] = purekube.Answer{}
	} else {
		m.daemonSets = append(m.daemonSets, &appsv1.DaemonSet{ObjectMeta: meta})
	}
	return &metav1.OwnerReference{
		APIVersion: apiVersion, Kind: "DaemonSet", Name: meta.Name, UID: meta.UID, Controller: ptr.To(true),
	}
}

// widget is a workload of a kind of its own, with a scale.
func (m *maker) widget(meta metav1.ObjectMeta, labels map[string]string, replicas int32) {
	owner := &metav1.OwnerReference{
		APIVersion: "example.com/v1", Kind: "Widget", Name: meta.Name, UID: meta.UID, Controller: ptr.To(true),
	}
	m.answers[purekube.Need{
		APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: meta.Namespace, Name: meta.Name, Subresource: "scale",
	}] = purekube.Answer{Object: &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{UID: meta.UID}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas},
	}}
	m.widgets = append(m.widgets, widget{uid: meta.UID, replicas: int(replicas), pod: m.pod(meta, labels, owner)})
}

// bare makes pods that no controller makes.
func (m *maker) bare(meta metav1.ObjectMeta, labels map[string]string, n int, owner *metav1.OwnerReference) {
	template := m.pod(meta, labels, owner)
	for i := range n {
		pod := template.DeepCopy()
		pod.Name = fmt.Sprintf("%s-%d", meta.Name, i)
		pod.UID = types.UID("uid-" + pod.Name)
		if owner != nil && owner.Kind == "DaemonSet" {
			pod.Spec.NodeName = m.nodes[i]
		}
		m.put(pod)
	}
}

func (m *maker) pod(meta metav1.ObjectMeta, labels map[string]string, owner *metav1.OwnerReference) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: meta.Namespace, Name: meta.Name, Labels: labels, CreationTimestamp: metav1.Now(),
	}, Spec: m.spec()}
	coredefaults.SetObjectDefaults_Pod(pod)
	pod.Status.Phase = corev1.PodPending
	if owner != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*owner}
		if owner.Kind == "Node" {
			pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "m"}
		}
	}
	return pod
}

// budget has no status yet.
func (m *maker) budget(name string) {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{
		Namespace: m.namespace(), Name: name, UID: types.UID("uid-" + name), Generation: 1, CreationTimestamp: metav1.Now(),
	}}
	amount := ptr.To(intstr.Parse(pick(m.r, "0", "1", "1", "1", "2", "3", "0%", "30%", "50%", "50%", "100%")))
	switch {
	case m.slow && !m.oneIn(4):
		b.Spec.MaxUnavailable = ptr.To(intstr.Parse(pick(m.r, "1", "1", "1", "2", "20%", "40%")))
	case m.oneIn(2):
		b.Spec.MaxUnavailable = amount
	default:
		b.Spec.MinAvailable = amount
	}
	switch n := m.r.IntN(8); {
	case len(m.jobs) > 0 && m.oneIn(3):
		// Only a number is of use for pods whose controller has no scale.
		job := pick(m.r, m.jobs...)
		b.Namespace, b.Spec.Selector = job.Namespace, job.Spec.Selector
		b.Spec.MaxUnavailable, b.Spec.MinAvailable = nil, ptr.To(intstr.FromInt32(pick[int32](m.r, 0, 1, 1, 2, 3)))
	case n == 0:
		b.Spec.Selector = &metav1.LabelSelector{} // several controllers
	case n < 3:
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}
	default:
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("w%d", m.r.IntN(m.apps))}}
	}
	if m.oneIn(2) {
		b.Spec.UnhealthyPodEvictionPolicy = ptr.To(pick(m.r, policyv1.AlwaysAllow, policyv1.IfHealthyBudget))
	}
	m.put(b)
}

// disturb has the pod do badly, if it comes to that.
func (m *maker) disturb(pod *corev1.Pod) {
	switch {
	case m.oneIn(m.bad):
		pod = m.as(pod, unready)
		if m.oneIn(2) {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", RestartCount: 9,
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}
		}
	case m.oneIn(30):
		pod = m.as(pod, pending)
	case m.oneIn(30):
		pod = pod.DeepCopy()
		pod.Status.Phase = pick(m.r, corev1.PodFailed, corev1.PodSucceeded)
		pod.Status.Conditions = nil
	default:
		return
	}
	m.put(pod)
}

// distrust has a budget wait for a pod that was evicted and did not go, as after a deletion that failed.
func (m *maker) distrust() {
	for _, key := range slices.SortedFunc(maps.Keys(m.budgets), persistent.CompareNames) {
		b := m.budgets[key].DeepCopy()
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			m.t.Fatal(err)
		}
		for _, pod := range m.sorted() {
			if pod.Namespace != b.Namespace || !selector.Matches(labels.Set(pod.Labels)) || !m.oneIn(4) {
				continue
			}
			if b.Status.DisruptedPods == nil {
				b.Status.DisruptedPods = map[string]metav1.Time{}
			}
			ago := pick(m.r, 0, time.Minute, 110*time.Second, 5*time.Minute)
			b.Status.DisruptedPods[pod.Name] = metav1.NewTime(time.Now().Add(-ago))
		}
		m.put(b)
	}
}

// remove are a few pods as they are when somebody deletes them: those that end, and those that never do.
func (m *maker) remove(ending, stuck bool) (deleted []*corev1.Pod) {
	one := pick(m.r, 4, 10, 10, 1000)
	for _, pod := range m.sorted() {
		if !m.oneIn(one) || terminal(pod) {
			continue
		}
		pod = pod.DeepCopy()
		pod.DeletionTimestamp = ptr.To(metav1.NewTime(time.Now().Add(30 * time.Second)))
		pod.DeletionGracePeriodSeconds = ptr.To[int64](30)
		switch dead := stuck && m.oneIn(3); {
		case !dead && !ending:
			continue
		case dead:
			pod.DeletionTimestamp = ptr.To(metav1.NewTime(m.began.Add(-time.Hour)))
		}
		deleted = append(deleted, pod)
	}
	return deleted
}

// last has a few pods be deleted, and is the snapshot of that moment: before the controllers look, or when they have
// done all that they can while those pods are still there. Only some ways to drain nodes allow for pods that end by
// themselves.
func (m *maker) last(ending bool) disruption.Snapshot {
	if m.plain && !m.tight && m.oneIn(4) {
		m.distrust()
		m.settle()
	}
	s := m.snapshot()
	when := pick(m.r, "stale", "stale", "idle", "idle", "idle", "idle", "idle", "starting", "short")
	if m.tight {
		when = "idle" // pods that are to come would take room
	}
	for _, pod := range m.remove(ending, when != "stale") {
		m.put(pod)
		at := slices.IndexFunc(s.Pods, func(p *corev1.Pod) bool { return eviction.KeyOf(p) == eviction.KeyOf(pod) })
		s.Pods[at] = pod
	}
	m.settle()
	switch when {
	case "stale", "short":
		return s
	case "idle":
		m.converge()
	}
	for _, pod := range m.sorted() {
		// Whatever time has passed, a kubelet has this pod for some more seconds.
		if pod.DeletionTimestamp != nil && !m.dead(pod) {
			pod = pod.DeepCopy()
			pod.DeletionTimestamp = ptr.To(metav1.NewTime(time.Now().Add(30 * time.Second)))
			m.put(pod)
		}
	}
	m.settle()
	return m.snapshot()
}
