package eviction

import (
	"context"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodename"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
)

// Filters are kube-scheduler's own plugins that drain.Node knows, in the order in which kube-scheduler runs them.
type Filters []fwk.FilterPlugin

// KubeSchedulerFilters makes the plugins of the release that this module is built with.
func KubeSchedulerFilters(t *testing.T) (all Filters) {
	t.Helper()
	gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	gates.EnableDRAExtendedResource = false // there are no DeviceClasses
	fit := &schedulerconfig.NodeResourcesFitArgs{ScoringStrategy: &schedulerconfig.ScoringStrategy{
		Type: schedulerconfig.LeastAllocated, Resources: []schedulerconfig.ResourceSpec{{Name: "cpu", Weight: 1}}}}
	for _, p := range []struct {
		args runtime.Object
		make func(context.Context, runtime.Object, fwk.Handle, feature.Features) (fwk.Plugin, error)
	}{
		{nil, nodeunschedulable.New}, {nil, nodename.New}, {nil, tainttoleration.New},
		{&schedulerconfig.NodeAffinityArgs{}, nodeaffinity.New}, {nil, nodeports.New}, {fit, noderesources.NewFit},
	} {
		plugin, err := p.make(t.Context(), p.args, nil, gates)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, plugin.(fwk.FilterPlugin))
	}
	return all
}

// Attempt is kube-scheduler's attempt to find a node for a pod.
type Attempt struct {
	Filters
	pod   *corev1.Pod
	state fwk.CycleState
	// only are the nodes that PreFilter leaves, nil for all.
	only sets.Set[string]
}

// Attempt runs all PreFilters. kube-scheduler stops at the first that refuses the pod.
func (f Filters) Attempt(t *testing.T, pod *corev1.Pod, nodes []fwk.NodeInfo) Attempt {
	t.Helper()
	a := Attempt{Filters: f, pod: pod, state: framework.NewCycleState()}
	skipped := sets.New[string]()
	for _, plugin := range f {
		p, asks := plugin.(fwk.PreFilterPlugin)
		if !asks {
			continue
		}
		result, status := p.PreFilter(t.Context(), a.state, pod, nodes)
		switch {
		case status.IsSkip():
			skipped.Insert(p.Name())
		case status.IsRejected():
			a.only = sets.New[string]()
		case !status.IsSuccess():
			t.Fatal(status.AsError())
		case !result.AllNodes() && a.only == nil:
			a.only = result.NodeNames
		case !result.AllNodes():
			a.only = a.only.Intersection(result.NodeNames)
		}
	}
	a.state.SetSkipFilterPlugins(skipped)
	return a
}

// Refuses returns the reasons of the first filter that refuses the node. A node that PreFilter leaves out is refused by
// a filter as well.
func (a Attempt) Refuses(t *testing.T, node fwk.NodeInfo) []string {
	t.Helper()
	for _, p := range a.Filters {
		if a.state.GetSkipFilterPlugins().Has(p.Name()) {
			continue
		}
		if status := p.Filter(t.Context(), a.state, a.pod, node); !status.IsSuccess() {
			if !status.IsRejected() {
				t.Fatal(status.AsError())
			}
			return slices.Sorted(slices.Values(status.Reasons()))
		}
	}
	if a.leavesOut(node) {
		t.Fatalf("PreFilter leaves out node %s, which all filters accept", node.Node().Name)
	}
	return nil
}

func (a Attempt) leavesOut(node fwk.NodeInfo) bool {
	return a.only != nil && !a.only.Has(node.Node().Name)
}

// NodeInfos are the nodes as kube-scheduler's cache has them. Its informer gets no pods that have ended.
func NodeInfos(nodes []*corev1.Node, pods []*corev1.Pod) []fwk.NodeInfo {
	infos := map[string]*framework.NodeInfo{}
	for _, n := range nodes {
		infos[n.Name] = framework.NewNodeInfo()
		infos[n.Name].SetNode(n)
	}
	for _, p := range pods {
		if info := infos[p.Spec.NodeName]; info != nil && p.Status.Phase != corev1.PodSucceeded &&
			p.Status.Phase != corev1.PodFailed {
			info.AddPod(p)
		}
	}
	var all []fwk.NodeInfo
	for _, name := range slices.Sorted(maps.Keys(infos)) {
		all = append(all, infos[name])
	}
	return all
}
