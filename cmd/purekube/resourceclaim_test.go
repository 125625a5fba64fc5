package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func claimManifest(name, more, reservedFor string) string {
	return fmt.Sprintf(`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"namespace":"ns","name":%q,"uid":"uid-%s",
		"resourceVersion":"7","finalizers":["resource.kubernetes.io/delete-protection"]%s},
		"status":{"allocation":{},"reservedFor":[%s]}}`, name, name, more, reservedFor) + "\n"
}

func consumers(names ...string) string {
	var refs []string
	for _, n := range names {
		refs = append(refs, fmt.Sprintf(`{"resource":"pods","name":%q,"uid":"uid-%s"}`, n, n))
	}
	return strings.Join(refs, ",")
}

func podManifest(name, uid, phase, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ns","name":%q,"uid":%q},"spec":{%s},"status":{"phase":%q}}`, name, uid, spec, phase) + "\n"
}

// planClaims runs the core without the closing lines.
func planClaims(t *testing.T, manifests string, args ...string) outcome {
	t.Helper()
	got := plan(t, nil, manifests, append([]string{"--core", "resourceclaim", "-"}, args...)...)
	got.stdout, _, _ = strings.Cut(got.stdout, "\n\nPlan: ")
	return got
}

// A claim that should be gone says who holds it, and what will become of it.
func TestStuckClaim(t *testing.T) {
	got := planClaims(t, claimManifest("stuck", `,"deletionTimestamp":"2026-11-21T11:00:00Z"`, consumers("x"))+
		claimManifest("used", "", consumers("x", "y"))+
		podManifest("x", "uid-x", "Succeeded", "")+podManifest("y", "uid-y", "Running", `"nodeName":"n"`), "--explain")
	require.Empty(t, got.stderr)
	require.Empty(t, cmp.Diff(`Note: the time is taken to be 2026-11-21T11:00:00Z, the newest in the input: --now sets another
resourceclaim: 2 ResourceClaims, 2 of them allocated, and 0 pods that use claims
  ResourceClaim ns/stuck
    Release ns/stuck: x, deallocate
      # reserved for pod ns/x: it is done and no longer needs the claim
    RemoveFinalizer ns/stuck  # it is no longer allocated
    status.reservedFor[0]: reserved for pod ns/x: it is done and no longer needs the claim
    status.allocation: cleared: no consumer is left
    metadata.finalizers: removed: the claim is no longer allocated
  ResourceClaim ns/used
    Release ns/used: x  # reserved for pod ns/x: it is done and no longer needs the claim
    status.reservedFor[0]: reserved for pod ns/x: it is done and no longer needs the claim
    status.reservedFor[1]: reserved for pod ns/y: it may run, so the reservation is kept
    status.allocation: kept: the claim has consumers`, got.stdout))
}

// A pod that the input lacks is not known to be gone, unless the input is said to be complete.
func TestAssumeComplete(t *testing.T) {
	owned := `,"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"y","uid":"uid-y","controller":true}]`
	input := claimManifest("c", "", consumers("x")) + claimManifest("d", owned, consumers("y")) + podManifest("y", "uid-of-another", "Running", "")
	got := planClaims(t, input)
	require.Empty(t, got.stderr)
	require.Empty(t, cmp.Diff(`resourceclaim: 2 ResourceClaims, 2 of them allocated, and 0 pods that use claims
  ResourceClaim ns/c
    needs Pod ns/x (v1), which is not in the input (kubectl get pod x -n ns -o json prints it)
  ResourceClaim ns/d
    needs Pod ns/y (v1), which is not in the input (kubectl get pod y -n ns -o json prints it)`, got.stdout),
		"the pod that has the name of y may be the one before it")

	got = planClaims(t, input, "--assume-complete")
	require.Empty(t, got.stderr)
	require.Empty(t, cmp.Diff(`resourceclaim: 2 ResourceClaims, 2 of them allocated, and 0 pods that use claims
  ResourceClaim ns/c
    Release ns/c: x, deallocate
      # reserved for pod ns/x: there is no pod of that name, so it no longer needs the claim
    RemoveFinalizer ns/c  # it is no longer allocated
  ResourceClaim ns/d
    Release ns/d: y, deallocate
      # reserved for pod ns/y: another pod has its name now, so it no longer needs the claim
    RemoveFinalizer ns/d  # it is no longer allocated
    DeleteClaim ns/d  # generated for pod ns/y, which is done or gone`, got.stdout))

	got = planClaims(t, input, "--match-upstream", "v1.36")
	require.Contains(t, got.stdout, "needs Pod ns/x", "upstream asks for it as well")
	require.Contains(t, got.stdout, "Release ns/d", "upstream takes the cached pod for the successor")
}

// What a pod is to get, and why.
func TestPodThatWaits(t *testing.T) {
	got := planClaims(t, claimManifest("shared", "", consumers("x"))+podManifest("x", "uid-x", "Running", `"nodeName":"n"`)+
		podManifest("p", "uid-p", "Pending", `"nodeName":"n","resourceClaims":[{"name":"a","resourceClaimName":"shared"},
			{"name":"b","resourceClaimTemplateName":"t"},{"name":"c","resourceClaimName":"missing"}]`)+
		`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"namespace":"ns","name":"t"}}`, "--explain")
	require.Empty(t, got.stderr)
	_, pods, _ := strings.Cut(got.stdout, "  Pod ns/p\n")
	require.Empty(t, cmp.Diff(`    CreateClaim ns/p b: p-b-*  # the pod has no claim for this entry yet
    SetClaimStatuses ns/p: b pending  # the pod's status does not name all of its claims
    Reserve ns/shared: for pod ns/p  # it is allocated, and the pod has a node
    spec.resourceClaims[0]: claim ns/shared is allocated and will be reserved for the pod
    spec.resourceClaims[1]: a claim is created from template ns/t
    spec.resourceClaims[2]: waits for claim ns/missing, which you must create`, pods))
}
