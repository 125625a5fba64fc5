package drain

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/shop"
)

// What the tests here and those of the other package build.
var (
	now = shop.Now

	ago                   = shop.Ago
	meta                  = shop.Meta
	pod                   = shop.Pod
	by                    = shop.By
	unready               = shop.Unready
	deleting              = shop.Deleting
	phase                 = shop.Phase
	labelled              = shop.Labelled
	pods                  = shop.Pods
	replicaSet            = shop.ReplicaSet
	deployment            = shop.Deployment
	statefulSet           = shop.StatefulSet
	replicationController = shop.ReplicationController
	budget                = shop.Budget
	maxUnavailable        = shop.MaxUnavailable
	minAvailable          = shop.MinAvailable
	named                 = shop.Named
	disrupted             = shop.Disrupted
	nn                    = shop.NamespacedName
	scaleNeed             = shop.ScaleNeed
	objectNeed            = shop.ObjectNeed
	scaleOf               = shop.ScaleOf
	unhealthyPolicy       = shop.UnhealthyPolicy
)

const ns = shop.Namespace

var bothModes = map[string]disruption.Options{"default": {}, "upstream": {MatchUpstream: purekube.V1_36}}

// play is Node, whose error is about objects that no drain rests on.
func play(x *disruption.Index, node string, o Options) (Drain, *disruption.Index) {
	d, after, _ := Node(x, node, o)
	return d, after
}

func podsOn(x *disruption.Index, node string) []*corev1.Pod {
	pods, _ := x.PodsOnNode(node)
	return pods
}
