// Package resourceclaim takes the place of k8s.io/kubernetes/pkg/controller/resourceclaim.
package resourceclaim

import (
	coreinformers "k8s.io/client-go/informers/core/v1"
	resourceinformers "k8s.io/client-go/informers/resource/v1"
	schedulinginformers "k8s.io/client-go/informers/scheduling/v1alpha2"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"example.com/purekube-suites/adapter"
)

type Features struct {
	AdminAccess            bool
	PrioritizedList        bool
	WorkloadResourceClaims bool
}

type Controller = adapter.Controller

func NewController(_ klog.Logger, f Features, client kubernetes.Interface, _ coreinformers.PodInformer, _ schedulinginformers.PodGroupInformer,
	_ resourceinformers.ResourceClaimInformer, _ resourceinformers.ResourceClaimTemplateInformer) (*Controller, error) {
	o := adapter.Options()
	o.ResourceClaim.DenyAdminAccess, o.ResourceClaim.DenyPrioritizedList = !f.AdminAccess, !f.PrioritizedList
	return adapter.New("resourceclaim", client, o), nil
}
