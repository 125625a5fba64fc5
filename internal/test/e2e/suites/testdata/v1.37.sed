# What is written in another way for v1.37, here and in ../adapter.
s|k8s.io/client-go/informers/scheduling/v1alpha2|k8s.io/client-go/informers/scheduling/v1beta1|
s|k8s.io/api/scheduling/v1alpha2|k8s.io/api/scheduling/v1beta1|
s|SchedulingV1alpha2()|SchedulingV1beta1()|
s|claimPodOwnerIndex, string(pod.UID)|claimPodOwnerIndex, pod.Namespace+"/"+string(pod.UID)|
s|k8s.io/kubernetes/pkg/controller/resourceclaim/metrics|k8s.io/dynamic-resource-allocation/resourceclaim/metrics|
s|WithLabelValues(outcome, getAdminAccessMetricLabel(claim))|WithLabelValues(getClaimCreateMetricLabels(claim)(outcome)...)|
s|deleteNode(any)|deleteNode(klog.Logger, any)|
s|implementsScale(mapping.Resource)|implementsScale(ctx, mapping.Resource)|
s|Run(ctx context.Context) { c.controller.Run(ctx, 1) }|Run(ctx context.Context, workers int) { c.controller.Run(ctx, workers) }|
# Kubernetes' constructor asks the feature gates itself, and dra/ga has these features on.
s|_ klog.Logger, f Features, client|_ klog.Logger, client|
s|!f.AdminAccess, !f.PrioritizedList|false, false|
