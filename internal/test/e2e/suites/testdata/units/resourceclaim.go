package resourceclaim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingapi "k8s.io/api/scheduling/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	resourceclaimmetrics "k8s.io/kubernetes/pkg/controller/resourceclaim/metrics"

	"example.com/purekube-suites/adapter"

	"github.com/purekube/purekube"
	core "github.com/purekube/purekube/resourceclaim"
)

func (ec *Controller) syncHandler(ctx context.Context, key string) error {
	k, err := keyOf(key)
	if err != nil {
		return err
	}
	s, err := ec.snapshot()
	if err != nil {
		return err
	}
	o := adapter.Options().ResourceClaim
	o.DenyAdminAccess, o.DenyPrioritizedList = !ec.features.AdminAccess, !ec.features.PrioritizedList
	if ec.features.WorkloadResourceClaims {
		o.PodGroupOf = func(pod *v1.Pod) string {
			if pod.Spec.SchedulingGroup == nil || pod.Spec.SchedulingGroup.PodGroupName == nil {
				return ""
			}
			return *pod.Spec.SchedulingGroup.PodGroupName
		}
	}
	result, err := core.Plan(s, k, o)
	for round := 0; len(result.Needs) > 0; round++ {
		if round == 8 {
			return fmt.Errorf("%s is never answered", key)
		}
		if err := ec.answer(ctx, &s, result.Needs); err != nil {
			return err
		}
		result, err = core.Plan(s, k, o)
	}
	return errors.Join(err, adapter.CarryOut(ctx, ec.kubeClient, result.Actions, func(r purekube.Request, err error) {
		claim, ok := r.Object.(*resourceapi.ResourceClaim)
		if !ok || r.Verb != "create" {
			return
		}
		outcome := "success"
		if err != nil {
			outcome = "failure"
		}
		resourceclaimmetrics.ResourceClaimCreate.WithLabelValues(outcome, getAdminAccessMetricLabel(claim)).Inc()
	}))
}

// keyOf reads a key of the controller's queue, "pod:ns/name".
func keyOf(queued string) (purekube.Key, error) {
	kind, object, _ := strings.Cut(queued, ":")
	namespace, name, _ := strings.Cut(object, "/")
	switch kind {
	case "pod":
		return core.PodKey(namespace, name), nil
	case "claim":
		return core.ClaimKey(namespace, name), nil
	case "podgroup":
		return core.PodGroupKey(namespace, name), nil
	}
	return purekube.Key{}, fmt.Errorf("nobody can plan %q", queued)
}

func (ec *Controller) snapshot() (s core.Snapshot, err error) {
	var errs [4]error
	s.Now = time.Now()
	s.Pods, errs[0] = ec.podLister.List(labels.Everything())
	s.Claims, errs[1] = ec.claimLister.List(labels.Everything())
	s.Templates, errs[2] = ec.templateLister.List(labels.Everything())
	for _, pod := range s.Pods {
		s.Assumed = append(s.Assumed, ec.written(s.Claims, claimPodOwnerIndex, string(pod.UID))...)
	}
	if ec.features.WorkloadResourceClaims {
		var groups []*schedulingapi.PodGroup
		groups, errs[3] = ec.podGroupLister.List(labels.Everything())
		for _, g := range groups {
			s.PodGroups = append(s.PodGroups, *podGroup(g))
			s.Assumed = append(s.Assumed, ec.written(s.Claims, claimPodGroupOwnerIndex, g.Namespace+"/"+string(g.UID))...)
		}
	}
	s.Deleted = ec.deleted(s)
	return s, errors.Join(errs[:]...)
}

// deleted are the UIDs of consumers, pods and PodGroups that were seen to be deleted.
func (ec *Controller) deleted(s core.Snapshot) sets.Set[types.UID] {
	deleted := sets.New[types.UID]()
	add := func(uid types.UID) {
		if ec.deletedObjects.Has(uid) {
			deleted.Insert(uid)
		}
	}
	for _, pod := range s.Pods {
		add(pod.UID)
	}
	for _, group := range s.PodGroups {
		add(group.UID)
	}
	for _, claim := range slices.Concat(s.Claims, s.Assumed) {
		for _, consumer := range claim.Status.ReservedFor {
			add(consumer.UID)
		}
		for _, owner := range claim.OwnerReferences {
			add(owner.UID)
		}
	}
	return deleted
}

// written are the claims in the controller's cache of its writes that are not listed. The tests have claims without a
// resourceVersion, and nothing says which of two such claims is newer.
func (ec *Controller) written(listed []*resourceapi.ResourceClaim, index, key string) (claims []*resourceapi.ResourceClaim) {
	objects, err := ec.claimCache.ByIndex(index, key)
	if err != nil {
		return nil
	}
	for _, o := range objects {
		if claim := o.(*resourceapi.ResourceClaim); !slices.Contains(listed, claim) {
			claims = append(claims, claim)
		}
	}
	return claims
}

func podGroup(g *schedulingapi.PodGroup) *core.PodGroup {
	group := &core.PodGroup{APIVersion: schedulingapi.SchemeGroupVersion.String(), Namespace: g.Namespace, Name: g.Name, UID: g.UID, Deleting: g.DeletionTimestamp != nil}
	for _, c := range g.Spec.ResourceClaims {
		group.ResourceClaims = append(group.ResourceClaims, v1.PodResourceClaim(c))
	}
	for _, c := range g.Status.ResourceClaimStatuses {
		group.ResourceClaimStatuses = append(group.ResourceClaimStatuses, v1.PodResourceClaimStatus(c))
	}
	return group
}

// answer adds to the snapshot what the API server says.
func (ec *Controller) answer(ctx context.Context, s *core.Snapshot, needs []purekube.Need) error {
	if s.Answers == nil {
		s.Answers = map[purekube.Need]purekube.Answer{}
	}
	for _, n := range needs {
		var answer purekube.Answer
		var err error
		switch n.Kind {
		case "Pod":
			answer.Object, err = ec.kubeClient.CoreV1().Pods(n.Namespace).Get(ctx, n.Name, metav1.GetOptions{})
		case "ResourceClaim":
			answer.Object, err = ec.kubeClient.ResourceV1().ResourceClaims(n.Namespace).Get(ctx, n.Name, metav1.GetOptions{})
		case "PodGroup":
			var group *schedulingapi.PodGroup
			if group, err = ec.kubeClient.SchedulingV1alpha2().PodGroups(n.Namespace).Get(ctx, n.Name, metav1.GetOptions{}); err == nil {
				answer.Object = *podGroup(group)
			}
		default:
			err = fmt.Errorf("nobody can answer %v", n)
		}
		if apierrors.IsNotFound(err) {
			answer, err = purekube.Answer{}, nil
		}
		if err != nil {
			return err
		}
		s.Answers[n] = answer
	}
	return nil
}
