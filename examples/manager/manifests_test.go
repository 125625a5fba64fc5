package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

var update = flag.Bool("update", false, "write manifests/rbac.yaml anew")

// actions has one of each kind: what they ask for is what the manager must be allowed to do.
var actions = map[string][]purekube.Action{
	"servicecidr": {servicecidr.AddFinalizer{}, servicecidr.RemoveFinalizer{}, servicecidr.SetCondition{}},
	"resourceclaim": {resourceclaim.CreateClaim{}, resourceclaim.DeleteClaim{}, resourceclaim.Release{}, resourceclaim.RemoveFinalizer{},
		resourceclaim.Reserve{}, resourceclaim.SetClaimStatuses{}},
	"ttl":           {ttl.SetTTL{}},
	"rbacaggregate": {rbacaggregate.SetRules{}},
	"disruption":    {disruption.ClearDisruptionTarget{}, disruption.UpdateStatus{}},
}

// other is what no action says: what the informers read, what the lookups read, the events, and what the
// API server wants on top of a verb.
var other = []rbacv1.PolicyRule{
	reads("", "nodes", "pods", "replicationcontrollers"),
	reads("apps", "deployments", "replicasets", "statefulsets"),
	reads("networking.k8s.io", "ipaddresses", "servicecidrs"),
	reads("policy", "poddisruptionbudgets"),
	reads("rbac.authorization.k8s.io", "clusterroles"),
	reads("resource.k8s.io", "resourceclaims", "resourceclaimtemplates"),
	// The scale of whatever controls a pod.
	{Verbs: []string{"get"}, APIGroups: []string{"*"}, Resources: []string{"*/scale"}},
	// rbacaggregate grants what the manager itself may not do.
	{Verbs: []string{"escalate"}, APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"clusterroles"}},
	// Who writes status.allocation and status.reservedFor of a claim, from Kubernetes v1.36 on.
	{Verbs: []string{"update"}, APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceclaims/binding"}},
	{Verbs: []string{"create", "patch", "update"}, APIGroups: []string{""}, Resources: []string{"events"}},
	{Verbs: []string{"create", "patch", "update"}, APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}},
}

func reads(group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{group}, Resources: resources}
}

func TestManifests(t *testing.T) {
	want := manifests(t)
	path := filepath.Join("manifests", "rbac.yaml")
	if *update {
		require.NoError(t, os.WriteFile(path, want, 0o600))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "an action asks for something else now: go test . -run TestManifests -update")
}

// The Deployment runs a manager with flags that there are, as the user that rbac.yaml is about.
func TestDeployment(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("manifests", "deployment.yaml"))
	require.NoError(t, err)
	var d appsv1.Deployment
	require.NoError(t, yaml.UnmarshalStrict(content, &d))
	pod := d.Spec.Template
	require.Equal(t, component, pod.Spec.ServiceAccountName)
	require.Equal(t, d.Spec.Selector.MatchLabels, pod.Labels)
	s, err := parseSettings(pod.Spec.Containers[0].Args, os.Stderr)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf(":%d", pod.Spec.Containers[0].Ports[0].ContainerPort), s.address)
	require.Equal(t, d.Namespace, s.leaseNamespace)
	require.True(t, s.leaderElect, "there are several of them")
}

// Whatever a core needs beyond the loop stays short: it is what people copy.
func TestCoresAreShort(t *testing.T) {
	for _, name := range names() {
		content, err := os.ReadFile(filepath.Join("cores", name+".go"))
		require.NoError(t, err)
		_, code, _ := strings.Cut(string(content), ")\n") // after the imports
		require.LessOrEqual(t, strings.Count(code, "\n"), 60, name)
	}
}

// The list of actions has all that the packages have.
func TestActionsAreAll(t *testing.T) {
	for name, list := range actions {
		var have []string
		for _, a := range list {
			have = append(have, reflect.TypeOf(a).Name())
		}
		slices.Sort(have)
		require.Equal(t, actionTypes(t, filepath.Join("..", "..", name)), have, name)
	}
	require.ElementsMatch(t, names(), keys(actions))
}

// actionTypes are the types of a package that have the method isAction.
func actionTypes(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	var types []string
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "isAction" {
				types = append(types, f.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	slices.Sort(types)
	return types
}

// manifests are the objects that let the manager do what it has to.
func manifests(t *testing.T) []byte {
	t.Helper()
	const namespace = "purekube"
	account := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: component}}
	named := metav1.ObjectMeta{Name: component}
	inNamespace := metav1.ObjectMeta{Namespace: namespace, Name: component}
	objects := []runtime.Object{
		&corev1.Namespace{TypeMeta: kind("v1", "Namespace"), ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.ServiceAccount{TypeMeta: kind("v1", "ServiceAccount"), ObjectMeta: inNamespace},
		&rbacv1.ClusterRole{TypeMeta: kind("rbac.authorization.k8s.io/v1", "ClusterRole"), ObjectMeta: named, Rules: rules()},
		&rbacv1.ClusterRoleBinding{TypeMeta: kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"), ObjectMeta: named, Subjects: account,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: component}},
		&rbacv1.Role{TypeMeta: kind("rbac.authorization.k8s.io/v1", "Role"), ObjectMeta: inNamespace, Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"create", "get", "update"}, APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}},
		}},
		&rbacv1.RoleBinding{TypeMeta: kind("rbac.authorization.k8s.io/v1", "RoleBinding"), ObjectMeta: inNamespace, Subjects: account,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: component}},
	}
	var documents [][]byte
	for _, o := range objects {
		document, err := yaml.Marshal(o)
		require.NoError(t, err)
		documents = append(documents, document)
	}
	return append([]byte("# Generated from the actions: go test . -run TestManifests -update\n"), bytes.Join(documents, []byte("---\n"))...)
}

func kind(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

// rules are what the actions ask for, and the others, with one for each resource.
func rules() []rbacv1.PolicyRule {
	type resource struct{ group, name string }
	verbs := map[resource]map[string]bool{}
	allow := func(verb, group, name string) {
		r := resource{group, name}
		if verbs[r] == nil {
			verbs[r] = map[string]bool{}
		}
		verbs[r][verb] = true
	}
	for _, list := range actions {
		for _, a := range list {
			r := a.Request(nil)
			name := r.Resource.Resource
			if r.Subresource != "" {
				name += "/" + r.Subresource
			}
			allow(r.Verb, r.Resource.Group, name)
		}
	}
	for _, rule := range other {
		for _, name := range rule.Resources {
			for _, verb := range rule.Verbs {
				allow(verb, rule.APIGroups[0], name)
			}
		}
	}
	var rules []rbacv1.PolicyRule
	for r, v := range verbs {
		rules = append(rules, rbacv1.PolicyRule{Verbs: keys(v), APIGroups: []string{r.group}, Resources: []string{r.name}})
	}
	slices.SortFunc(rules, func(a, b rbacv1.PolicyRule) int {
		return cmp.Or(strings.Compare(a.APIGroups[0], b.APIGroups[0]), strings.Compare(a.Resources[0], b.Resources[0]))
	})
	return rules
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
