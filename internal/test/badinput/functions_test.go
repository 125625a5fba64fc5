package badinput

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/memory"
	"github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/manifests/lint"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	claimmemory "github.com/purekube/purekube/resourceclaim/memory"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// surface is what one package exports: functions by name, and types with methods.
type surface struct {
	// folder is the package's, from the root of the module.
	folder    string
	functions map[string]any
	types     []reflect.Type
}

// of is a type; its pointer has the methods of both.
func of[T any]() reflect.Type { return reflect.TypeFor[T]() }

// surfaces are all exported functions and methods of the library. TestEveryFunctionIsThere compares them with the source. A generic
// function is there with one of its instances.
func surfaces() []surface {
	return []surface{
		{".", map[string]any{
			"CarryOut": purekube.CarryOut[purekube.Action], "ParseKey": purekube.ParseKey, "ParseUpstream": purekube.ParseUpstream,
		}, []reflect.Type{of[purekube.Key](), of[purekube.Need](), of[purekube.ObjectError](), of[purekube.Reason[disruption.Code]](), of[purekube.Request](), of[purekube.Template](),
			of[purekube.Result[disruption.Action]]()}},
		{"servicecidr", map[string]any{
			"Key": servicecidr.Key, "KeyOf": servicecidr.KeyOf, "PrefixContainsIP": servicecidr.PrefixContainsIP, "NewIndex": servicecidr.NewIndex, "Plan": servicecidr.Plan, "PlanAll": servicecidr.PlanAll,
		}, []reflect.Type{of[servicecidr.Index](), of[servicecidr.AddFinalizer](), of[servicecidr.RemoveFinalizer](), of[servicecidr.SetCondition](), of[servicecidr.Orphan]()}},
		{"resourceclaim", map[string]any{
			"ClaimKey": resourceclaim.ClaimKey, "PodKey": resourceclaim.PodKey, "PodGroupKey": resourceclaim.PodGroupKey, "GenerateName": resourceclaim.GenerateName,
			"KeyOf": resourceclaim.KeyOf[*resourcev1.ResourceClaim], "ClaimName": resourceclaim.ClaimName,
			"NewIndex": resourceclaim.NewIndex, "Plan": resourceclaim.Plan, "PlanAll": resourceclaim.PlanAll,
		}, []reflect.Type{of[resourceclaim.Index](), of[resourceclaim.CreateClaim](), of[resourceclaim.DeleteClaim](), of[resourceclaim.Release](), of[resourceclaim.RemoveFinalizer](),
			of[resourceclaim.Reserve](), of[resourceclaim.SetClaimStatuses]()}},
		{"resourceclaim/memory", map[string]any{"NewDeletedPods": claimmemory.NewDeletedPods},
			[]reflect.Type{of[claimmemory.AssumedClaims](), of[claimmemory.DeletedPods]()}},
		{"ttl", map[string]any{
			"Key": ttl.Key, "KeyOf": ttl.KeyOf, "NewIndex": ttl.NewIndex, "Plan": ttl.Plan, "PlanAll": ttl.PlanAll, "Steps": ttl.Steps,
		}, []reflect.Type{of[ttl.Index](), of[ttl.SetTTL]()}},
		{"rbacaggregate", map[string]any{
			"Key": rbacaggregate.Key, "KeyOf": rbacaggregate.KeyOf, "NewIndex": rbacaggregate.NewIndex, "Plan": rbacaggregate.Plan, "PlanAll": rbacaggregate.PlanAll,
		}, []reflect.Type{of[rbacaggregate.Index](), of[rbacaggregate.SetRules](), of[rbacaggregate.Change](), of[rbacaggregate.Explanation]()}},
		{"disruption", map[string]any{
			"AllowedAtFullHealth": disruption.AllowedAtFullHealth, "BudgetKey": disruption.BudgetKey, "PodKey": disruption.PodKey,
			"DesiredHealthy": disruption.DesiredHealthy, "KeyOf": disruption.KeyOf[*policyv1.PodDisruptionBudget],
			"NewIndex": disruption.NewIndex,
			"Plan":     disruption.Plan, "PlanAll": disruption.PlanAll,
		}, []reflect.Type{of[disruption.Index](), of[disruption.UpdateStatus](), of[disruption.ClearDisruptionTarget](), of[disruption.BudgetExplanation](), of[disruption.Counts](),
			of[disruption.Verdict](), of[disruption.Eviction](), of[disruption.PodExplanation]()}},
		{"disruption/drain", map[string]any{
			"Blockers": drain.Blockers, "Each": drain.Each, "Node": drain.Node, "Nodes": drain.Nodes, "Pods": drain.Pods, "Violations": drain.Violations, "Waves": drain.Waves,
		}, []reflect.Type{of[drain.Drain](), of[drain.SkippedPod](), of[drain.RefusedPod](), of[drain.PendingPod](), of[drain.Blocker](), of[drain.Fix]()}},
		{"admission", map[string]any{
			"Decide": admission.Decide, "ServiceCIDRDelete": admission.ServiceCIDRDelete, "ClusterRoleWrite": admission.ClusterRoleWrite, "Eviction": admission.Eviction,
			"BudgetWrite": admission.BudgetWrite, "NotNow": admission.NotNow, "Failed": admission.Failed, "EvictionOf": admission.EvictionOf,
			"ReadsServiceCIDRs": admission.ReadsServiceCIDRs, "ReadsClusterRoles": admission.ReadsClusterRoles,
		}, nil},
		{"admission/memory", map[string]any{"NewStore": memory.NewStore}, []reflect.Type{of[memory.Store]()}},
		{"admission/webhook", map[string]any{"New": webhook.New}, []reflect.Type{of[webhook.Handler]()}},
		{"manifests", map[string]any{
			"APIVersion": manifests.APIVersion, "BuiltinClusterRoles": manifests.BuiltinClusterRoles, "Errors": manifests.Errors, "KeyOf": manifests.KeyOf, "Kinds": manifests.Kinds,
			"IsHelmHook": manifests.IsHelmHook, "Load": manifests.Load, "Namespaced": manifests.Namespaced,
			"ScaledObject.Replicas": (*manifests.ScaledObject).Replicas, // its other methods are those of the embedded types
		}, []reflect.Type{of[manifests.Set](), of[manifests.Error](), of[manifests.Ref](), of[manifests.Note]()}},
		{"manifests/lint", map[string]any{"Check": lint.Check, "Finds": lint.Finds, "Rules": lint.Rules}, []reflect.Type{of[lint.Severity]()}},
		{"purekubetest", map[string]any{
			"Address": purekubetest.Address, "AggregatedRole": purekubetest.AggregatedRole, "Budget": purekubetest.Budget, "Claim": purekubetest.Claim, "ClaimFor": purekubetest.ClaimFor,
			"ClusterRole": purekubetest.ClusterRole, "Converge": purekubetest.Converge[disruption.Snapshot], "Deleted": purekubetest.Deleted[*networkingv1.ServiceCIDR],
			"Deployment": purekubetest.Deployment, "Ended": purekubetest.Ended, "Load": purekubetest.Load, "MaxUnavailable": purekubetest.MaxUnavailable,
			"MinAvailable": purekubetest.MinAvailable, "NewCluster": purekubetest.NewCluster, "Node": purekubetest.Node, "NotReady": purekubetest.NotReady,
			"Pod": purekubetest.Pod, "ServiceCIDR": purekubetest.ServiceCIDR, "StatefulSet": purekubetest.StatefulSet,
		}, []reflect.Type{of[purekubetest.Cluster](), of[purekubetest.Step](), of[purekubetest.Workload]()}},
	}
}

var _ = of[corev1.Pod]
