package charts

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

// source is a Go module with manifests.
type source struct {
	name, module, version string
	// sum is the module's line in a go.sum.
	sum string
	// paths are files and folders of the module. Each is an input of its own: many are alternatives of each other.
	paths []string
}

// sources are the modules, and of each the paths that have rendered manifests. Their licence is Apache-2.0.
var sources = []source{
	{
		name: "istio", module: "istio.io/istio", version: "v0.0.0-20260827124520-eed52ebb66ad",
		sum: "h1:ui9TJjRMAV/hb5ehQaZDq7IUGxuQP6dra9lapT/VjHI=",
		paths: []string{"operator/cmd/mesh/testdata/manifest-generate/output/*.yaml",
			"operator/pkg/helm/testdata/output/*pdb*.yaml"},
	},
	{
		name: "calico", module: "github.com/projectcalico/calico",
		version: "v1.11.0-cni-plugin.0.20250813170300-a0db560f0520",
		sum:     "h1:TXnPEzx4pLWgwzCetIO/VJuz4iBZZrOdNSv16a50YqE=",
		paths:   []string{"manifests/*.yaml"},
	},
	{
		name: "knative", module: "knative.dev/serving", version: "v0.51.0",
		sum:   "h1:yN2Q7eYqJgoPfZkATjoBZyGbZ2P1Qhns9HIMU4mF+to=",
		paths: []string{"config/core", "third_party/*/*.yaml"},
	},
	{
		name: "cluster-api", module: "sigs.k8s.io/cluster-api", version: "v1.14.2",
		sum: "h1:o3GFNaeNFAOEEMpDPfhCK+2CjmV6gtQ8yLEcUwCg7bA=",
		paths: []string{"core/config/rbac", "core/config/manager", "controlplane/kubeadm/config/rbac",
			"hack/observability/kube-state-metrics/*.yaml"},
	},
	{
		name: "prometheus-operator", module: "github.com/prometheus-operator/prometheus-operator", version: "v0.85.0",
		sum:   "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
		paths: []string{"bundle.yaml", "example/admission-webhook", "example/rbac/prometheus-operator", "example/thanos"},
	},
	{
		name: "kubernetes", module: "k8s.io/kubernetes", version: "v1.36.3",
		sum: "h1:qDQdoMiluAE2Eab6Fa52YV+WjiGz9mZFFoagEA6cI+o=",
		paths: []string{
			"cluster/addons", "plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata/cluster-roles.yaml",
			"test/e2e/testing-manifests/statefulset/*",
			"test/e2e/testing-manifests/guestbook", "test/e2e/testing-manifests/dra",
		},
	},
}

// download puts the module into the module cache and returns its folder. The go command compares it with the checksum
// database.
func (s source) download(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", s.module+"@"+s.version).Output()
	var module struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal(out, &module); jsonErr != nil || err != nil || module.Error != "" {
		t.Fatalf("%s@%s: %v %v %s", s.module, s.version, err, jsonErr, module.Error)
	}
	if module.Sum != s.sum {
		t.Fatalf("%s@%s is %s", s.module, s.version, module.Sum)
	}
	return module.Dir
}

// inputs are the files and folders that the paths name, relative to the module.
func (s source) inputs(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	for _, pattern := range s.paths {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(found) == 0 {
			t.Fatal(fmt.Errorf("%s: no %s: %w", s.name, pattern, err))
		}
		for _, path := range found {
			relative, err := filepath.Rel(dir, path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, filepath.ToSlash(relative))
		}
	}
	return all
}
