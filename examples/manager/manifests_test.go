package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/purekube/purekube/clientgo"
)

var update = flag.Bool("update", false, "write manifests/rbac.yaml anew")

func TestManifests(t *testing.T) {
	want := manifests(t)
	path := filepath.Join("manifests", "rbac.yaml")
	if *update {
		require.NoError(t, os.WriteFile(path, want, 0o600))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "the controllers ask for something else now: go test . -run TestManifests -update")
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
	require.Equal(t, d.Namespace, s.Lease.Namespace)
	require.True(t, s.leaderElect, "there are several of them")
}

// manifests are the objects that let the manager do what it has to.
func manifests(t *testing.T) []byte {
	t.Helper()
	const namespace = "purekube"
	rules, err := clientgo.PolicyRules(clientgo.Names()...)
	require.NoError(t, err)
	account := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: component}}
	named := metav1.ObjectMeta{Name: component}
	inNamespace := metav1.ObjectMeta{Namespace: namespace, Name: component}
	objects := []runtime.Object{
		&corev1.Namespace{TypeMeta: kind("v1", "Namespace"), ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.ServiceAccount{TypeMeta: kind("v1", "ServiceAccount"), ObjectMeta: inNamespace},
		&rbacv1.ClusterRole{TypeMeta: kind("rbac.authorization.k8s.io/v1", "ClusterRole"), ObjectMeta: named, Rules: rules},
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
	return append([]byte("# Generated from clientgo.PolicyRules: go test . -run TestManifests -update\n"), bytes.Join(documents, []byte("---\n"))...)
}

func kind(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}
