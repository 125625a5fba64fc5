package clientgo

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/resourceclaim"
)

// PodGroups is where the controller of ResourceClaims reads PodGroups. No version of their API is in all supported
// releases of Kubernetes (v1.36 has v1alpha2, v1.37 has v1beta1), so you say which one your API server serves.
//
// The account needs more rights with it: get, list and watch of podgroups in the group scheduling.k8s.io, and patch of
// podgroups/status.
type PodGroups struct {
	// Version of scheduling.k8s.io, for example "v1beta1".
	Version string
	// Informer shows the PodGroups of that version as *unstructured.Unstructured: client-go's dynamicinformer makes it, or
	// the cache of controller-runtime.
	Informer Informer
}

// ErrPodGroups says that resourceclaim.Options.PodGroupOf is set, but Cluster.PodGroups or SetOptions.PodGroups is not.
var ErrPodGroups = errors.New("resourceclaim.Options.PodGroupOf is set, but nothing says where to read PodGroups")

const podGroupKind = "PodGroup"

// PodGroupsOf is the resource of PodGroups in this version of scheduling.k8s.io.
func PodGroupsOf(version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: version, Resource: "podgroups"}
}

func (g *PodGroups) check() error {
	if g == nil || g.Version == "" || g.Informer == nil {
		return ErrPodGroups
	}
	return nil
}

// podGroupLookup asks for PodGroups in their version: an API server answers 404 to any other version, and a PodGroup
// that is not there loses its claims.
type podGroupLookup struct {
	lookup interface {
		Lookup(context.Context, purekube.Need) (purekube.Answer, error)
	}
	version string
}

func (l podGroupLookup) Lookup(ctx context.Context, n purekube.Need) (purekube.Answer, error) {
	if n.Kind == podGroupKind {
		n.APIVersion = PodGroupsOf(l.version).GroupVersion().String()
	}
	return l.lookup.Lookup(ctx, n)
}

// podGroupOf is the PodGroup as package resourceclaim takes it.
func podGroupOf(o runtime.Object) (resourceclaim.PodGroup, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok { // this version of client-go has the kind
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return resourceclaim.PodGroup{}, err
		}
		u = &unstructured.Unstructured{Object: content}
	}
	var read struct {
		Spec struct {
			ResourceClaims []corev1.PodResourceClaim `json:"resourceClaims"`
		} `json:"spec"`
		Status struct {
			ResourceClaimStatuses []corev1.PodResourceClaimStatus `json:"resourceClaimStatuses"`
		} `json:"status"`
	}
	// Without a UID a PodGroup gets nothing, nor do its pods: what it says is not known.
	group := resourceclaim.PodGroup{APIVersion: u.GetAPIVersion(), Namespace: u.GetNamespace(), Name: u.GetName()}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &read); err != nil {
		return group, fmt.Errorf("PodGroup %s/%s: %w", group.Namespace, group.Name, err)
	}
	group.UID, group.Deleting = u.GetUID(), u.GetDeletionTimestamp() != nil
	group.ResourceClaims, group.ResourceClaimStatuses = read.Spec.ResourceClaims, read.Status.ResourceClaimStatuses
	return group, nil
}

// watch keeps PodGroups in the controller's Index. gone gets a deleted PodGroup before the Index loses it.
func (g *PodGroups) watch(c *ResourceClaimController, gone func(*unstructured.Unstructured)) error {
	return handle(c, PodGroupsOf(g.Version), g.Informer, func(o *unstructured.Unstructured) resourceclaim.Snapshot {
		group, _ := podGroupOf(o) // what cannot be read has no UID, which its plan says
		return resourceclaim.Snapshot{PodGroups: []resourceclaim.PodGroup{group}}
	}, []func(*unstructured.Unstructured){gone})
}
