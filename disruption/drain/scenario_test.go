package drain_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
)

var updateScenarios = flag.Bool("update-drains", false, "write what happens into testdata/drain anew; read the difference")

// TestDrainScenarios plays the files in testdata/drain; testdata/README.md says how they read.
func TestDrainScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			played, err := playScenario(string(text))
			if err != nil {
				t.Fatal(err)
			}
			if *updateScenarios {
				if err := os.WriteFile(file, []byte(played), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), played); diff != "" {
				t.Errorf("-file +what happens:\n%s", diff)
			}
		})
	}
}

// playScenario returns the file with what happens after each "----".
func playScenario(text string) (string, error) {
	var out strings.Builder
	s := &scenario{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		out.WriteString(line + "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		command := strings.Fields(line)
		var input []string
		for i++; i < len(lines) && lines[i] != "----"; i++ {
			out.WriteString(lines[i] + "\n")
			input = append(input, lines[i])
		}
		result, err := s.run(command, input)
		if err != nil {
			return "", fmt.Errorf("line %d: %q: %w", i, line, err)
		}
		out.WriteString("----\n" + result)
		// What is there now is what happened when the file was written.
		for i+1 < len(lines) && lines[i+1] != "" {
			i++
		}
	}
	return out.String(), nil
}

// scenario is the cluster of a file.
type scenario struct {
	s disruption.Snapshot
	x *disruption.Index
}

var scenarioTime = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func (c *scenario) run(command, input []string) (string, error) {
	switch command[0] {
	case "cluster":
		c.s = disruption.Snapshot{Now: scenarioTime}
		for _, line := range input {
			if err := c.add(strings.Fields(line)); err != nil {
				return "", fmt.Errorf("%q: %w", line, err)
			}
		}
		c.x = disruption.NewIndex(c.s, disruption.Options{})
		return c.budgets(), c.x.Err()
	case "scale":
		// scale NS/NAME N: the answer to a need.
		name, err := objectName(command[1])
		if err != nil {
			return "", err
		}
		n, err := strconv.ParseInt(command[2], 10, 32)
		if err != nil {
			return "", err
		}
		c.x, _ = c.x.With(disruption.Snapshot{Answers: map[purekube.Need]purekube.Answer{
			{APIVersion: "example.com/v1", Kind: "Widget", Namespace: name.Namespace, Name: name.Name, Subresource: "scale"}: {Object: &autoscalingv1.Scale{
				ObjectMeta: metav1.ObjectMeta{UID: types.UID("uid-" + name.Name)}, Spec: autoscalingv1.ScaleSpec{Replicas: int32(n)}}},
		}})
		return c.budgets(), nil
	case "drain", "drain-and-go-on":
		return c.drain(command)
	}
	return "", fmt.Errorf("no such command: %s", command[0])
}

func (c *scenario) drain(command []string) (string, error) {
	var o drain.Options
	for _, flag := range command[2:] {
		name, value, _ := strings.Cut(flag, "=")
		switch name {
		case "--ignore-daemonsets":
			o.IgnoreDaemonSets = true
		case "--delete-emptydir-data":
			o.DeleteEmptyDirData = true
		case "--force":
			o.Force = true
		case "--pod-selector":
			selector, err := labels.Parse(value)
			if err != nil {
				return "", err
			}
			o.SkipPod = func(p *corev1.Pod) bool { return !selector.Matches(labels.Set(p.Labels)) }
		case "--max-rounds":
			n, err := strconv.Atoi(value)
			if err != nil {
				return "", err
			}
			o.MaxRounds = n
		default:
			return "", fmt.Errorf("no such flag: %s", flag)
		}
	}
	d, after := play(c.x, command[1], o)
	if command[0] == "drain-and-go-on" {
		c.x = after
		return describeDrain(d) + c.budgets(), nil
	}
	return describeDrain(d), nil
}

func describeDrain(d drain.Drain) string {
	var b strings.Builder
	fmt.Fprintln(&b, d.Outcome)
	for i, round := range d.Rounds {
		fmt.Fprintf(&b, "round %d:", i+1)
		for _, pod := range round {
			fmt.Fprintf(&b, " %s", pod)
		}
		if len(round) == 0 {
			b.WriteString(" waits")
		}
		b.WriteByte('\n')
	}
	for _, p := range d.Skipped {
		fmt.Fprintf(&b, "skipped %s: %s: %s\n", p.Pod, p.Code, p.Message)
	}
	for _, p := range d.Refused {
		fmt.Fprintf(&b, "stays %s: %s: %s\n", p.Pod, p.Code, p.Message)
		for _, budget := range p.Eviction.Blocking {
			fmt.Fprintf(&b, "  in the way: budget %s\n", budget)
		}
	}
	for _, n := range d.Needs {
		fmt.Fprintf(&b, "needs %s %s/%s %s\n", n.Kind, n.Namespace, n.Name, n.Subresource)
	}
	return b.String()
}

// budgets is a line for each budget, as it is computed from the pods.
func (c *scenario) budgets() string {
	all, err := c.x.ExplainAll()
	var b strings.Builder
	for _, e := range all {
		if e.Key.Kind != "PodDisruptionBudget" {
			continue
		}
		says := e.Budget.Computed.String()
		if len(e.Budget.Needs) > 0 {
			says = "needs a lookup"
		}
		fmt.Fprintf(&b, "budget %s/%s: %s\n", e.Key.Namespace, e.Key.Name, says)
	}
	if err != nil {
		fmt.Fprintln(&b, err)
	}
	if b.Len() == 0 {
		return "no budgets\n"
	}
	return b.String()
}

func objectName(text string) (types.NamespacedName, error) {
	namespace, name, found := strings.Cut(text, "/")
	if !found {
		return types.NamespacedName{}, fmt.Errorf("%q is no namespace/name", text)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// add reads one line of a cluster:
//
//	Budget NS/NAME maxUnavailable=1|minAvailable=50% selector=app=db [policy=AlwaysAllow] [evicted=POD@30s,…]
//	KIND NS/NAME [replicas=3] [policy=Parallel] [labels=app=db,tier=x] NODE[:MARK[+MARK…]] …
func (c *scenario) add(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("too short")
	}
	name, err := objectName(words[1])
	if err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: types.UID("uid-" + name.Name), Generation: 1}
	settings := map[string]string{}
	var places []string
	for _, word := range words[2:] {
		if key, value, found := strings.Cut(word, "="); found {
			settings[key] = value
		} else {
			places = append(places, word)
		}
	}
	if words[0] == "Budget" {
		return c.addBudget(meta, settings)
	}
	return c.addWorkload(words[0], meta, settings, places)
}

func (c *scenario) addBudget(meta metav1.ObjectMeta, settings map[string]string) error {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: meta}
	for key, value := range settings {
		switch key {
		case "maxUnavailable":
			b.Spec.MaxUnavailable = ptr.To(intstr.Parse(value))
		case "minAvailable":
			b.Spec.MinAvailable = ptr.To(intstr.Parse(value))
		case "selector":
			b.Spec.Selector = &metav1.LabelSelector{}
			if value != "everything" {
				set, err := labels.ConvertSelectorToLabelsMap(value)
				if err != nil {
					return err
				}
				b.Spec.Selector.MatchLabels = set
			}
		case "policy":
			b.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.UnhealthyPodEvictionPolicyType(value))
		case "evicted":
			pod, ago, _ := strings.Cut(value, "@")
			d, err := time.ParseDuration(ago)
			if err != nil {
				return err
			}
			b.Status.DisruptedPods = map[string]metav1.Time{pod: metav1.NewTime(scenarioTime.Add(-d))}
		default:
			return fmt.Errorf("a budget has no %s", key)
		}
	}
	c.s.Budgets = append(c.s.Budgets, b)
	return nil
}

func (c *scenario) addWorkload(kind string, meta metav1.ObjectMeta, settings map[string]string, places []string) error {
	replicas := ptr.To(int32(len(places)))
	if text, found := settings["replicas"]; found {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return err
		}
		*replicas = int32(n)
	}
	set, err := labels.ConvertSelectorToLabelsMap(settings["labels"])
	if err != nil {
		return err
	}
	owner := &metav1.OwnerReference{APIVersion: "apps/v1", Kind: kind, Name: meta.Name, UID: meta.UID, Controller: ptr.To(true)}
	switch kind {
	case "Deployment":
		c.s.Deployments = append(c.s.Deployments, &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: replicas}})
		rs := &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: replicas}}
		rs.Name, rs.UID = meta.Name+"-rs", meta.UID+"-rs"
		rs.OwnerReferences = []metav1.OwnerReference{*owner}
		c.s.ReplicaSets = append(c.s.ReplicaSets, rs)
		owner = &metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: rs.Name, UID: rs.UID, Controller: ptr.To(true)}
	case "ReplicaSet":
		c.s.ReplicaSets = append(c.s.ReplicaSets, &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: replicas}})
	case "StatefulSet":
		c.s.StatefulSets = append(c.s.StatefulSets, &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
			Replicas: replicas, PodManagementPolicy: appsv1.PodManagementPolicyType(settings["policy"])}})
	case "Job":
		owner.APIVersion = "batch/v1"
	case "DaemonSet":
	case "Widget":
		owner.APIVersion = "example.com/v1"
	case "Pods":
		owner = nil
	default:
		return fmt.Errorf("no such kind: %s", kind)
	}
	for i, place := range places {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: meta.Namespace, Name: fmt.Sprintf("%s-%d", meta.Name, i), UID: types.UID(fmt.Sprintf("uid-%s-%d", meta.Name, i)),
			Labels: set, CreationTimestamp: metav1.NewTime(scenarioTime.Add(-time.Hour)),
		}}
		if owner != nil {
			p.OwnerReferences = []metav1.OwnerReference{*owner}
		}
		node, marks, _ := strings.Cut(place, ":")
		p.Spec.NodeName = node
		p.Status.Phase = corev1.PodRunning
		ready := corev1.ConditionTrue
		for mark := range strings.SplitSeq(marks, "+") {
			switch mark {
			case "":
			case "not-ready":
				ready = corev1.ConditionFalse
			case "pending":
				p.Status.Phase, ready = corev1.PodPending, corev1.ConditionFalse
			case "ended":
				p.Status.Phase, ready = corev1.PodSucceeded, corev1.ConditionFalse
			case "stuck":
				p.DeletionTimestamp = ptr.To(metav1.NewTime(scenarioTime.Add(-24 * time.Hour)))
			case "being-deleted":
				p.DeletionTimestamp = ptr.To(metav1.NewTime(scenarioTime))
			case "emptydir":
				p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			case "mirror":
				p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
			default:
				return fmt.Errorf("no such mark: %s", mark)
			}
		}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		c.s.Pods = append(c.s.Pods, p)
	}
	slices.Reverse(c.s.Pods) // any order will do
	return nil
}
