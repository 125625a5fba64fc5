package model

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/internal/test/apiserver"
)

func describeClaimNames(statuses []corev1.PodResourceClaimStatus) string {
	var names []string
	for _, st := range statuses {
		names = append(names, st.Name+"="+ptr.Deref(st.ResourceClaimName, "not needed"))
	}
	if names == nil {
		return ""
	}
	return ", status " + strings.Join(names, " ")
}

func describeClaimOrPod(o Object) string {
	switch o := o.(type) {
	case *corev1.Pod:
		s := fmt.Sprintf("pod %s (%s) %s", o.Name, o.UID, o.Status.Phase)
		if o.Spec.NodeName != "" {
			s += " on a node"
		}
		s += describeClaimNames(o.Status.ResourceClaimStatuses)
		if o.DeletionTimestamp != nil {
			s += ", being deleted"
		}
		return s
	case *apiserver.PodGroup:
		s := fmt.Sprintf("PodGroup %s (%s)", o.Name, o.UID) + describeClaimNames(o.Status.ResourceClaimStatuses)
		if o.DeletionTimestamp != nil {
			s += ", being deleted"
		}
		return s
	case *resourcev1.ResourceClaim:
		s := "claim " + o.Name
		if owner := ownerOf(o); owner != "" {
			s += fmt.Sprintf(" for %s of %s", o.Annotations[podClaimName], owner)
		}
		if o.Status.Allocation != nil {
			s += ", allocated"
		}
		var consumers []string
		for _, r := range o.Status.ReservedFor {
			consumers = append(consumers, fmt.Sprintf("%s (%s)", r.Name, r.UID))
		}
		if consumers != nil {
			s += ", reserved for " + strings.Join(consumers, " and ")
		}
		if len(o.Finalizers) > 0 {
			s += ", finalizers " + strings.Join(o.Finalizers, " and ")
		}
		if o.DeletionTimestamp != nil {
			s += ", being deleted"
		}
		return s
	}
	return o.GetName()
}
