package charts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/manifests/lint"
)

// chartModules are Go modules with charts. Their licence is Apache-2.0, or in the case of eck-operator the Elastic License.
var chartModules = map[string]source{
	"certManager":     {module: "github.com/cert-manager/cert-manager", version: "v1.21.2", sum: "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68="},
	"approverPolicy":  {module: "github.com/cert-manager/approver-policy", version: "v0.28.0", sum: "h1:tZNWjYkGd5+Cs9qflP4xkzml5pWTserC4AEWI9omPZA="},
	"trustManager":    {module: "github.com/cert-manager/trust-manager", version: "v0.25.0", sum: "h1:nGtkHH9wEacI5uACdsq8wqCKWsCw1PMrwHPJcrUFUXA="},
	"chaosMesh":       {module: "github.com/chaos-mesh/chaos-mesh", version: "v0.9.1-0.20260902003049-47411975a8cb", sum: "h1:0TeWmCELKreoLAXuoPaO2qpJe73foDgOoyU3fdKQN4A="},
	"cilium":          {module: "github.com/cilium/cilium", version: "v1.20.2", sum: "h1:dqiEGIcXc+gqCLYG/l7VCFJ8GHyb4HUrwbZOpkX5dL8="},
	"eck":             {module: "github.com/elastic/cloud-on-k8s/v3", version: "v3.5.0", sum: "h1:sR4oj+gNnwI9hgsKhBwjUlx+5F2T/kND40hrzaogtek="},
	"externalSecrets": {module: "github.com/external-secrets/external-secrets", version: "v1.3.2", sum: "h1:u2J8RjlHIeF0oZCqtl92adI/uZWUwOesJIDkfql6LqQ="},
	"trainer":         {module: "github.com/kubeflow/trainer/v2", version: "v2.0.0", sum: "h1:mnQSR9iPKItxyUR8mq66XsmxqKNVHwr9YYOB7BTU9dU="},
	"kyverno":         {module: "github.com/kyverno/kyverno", version: "v1.19.1", sum: "h1:/MkgFii3/VlQfKR1JpC9tVwNNVNQTt2S4U6qCsafsTU="},
	"gatekeeper":      {module: "github.com/open-policy-agent/gatekeeper/v3", version: "v3.23.1", sum: "h1:njHTm0SJ6ZEhhEgmQTpJKTGQbc99fSs4hGiEp1OIKck="},
	"ingressNginx":    {module: "k8s.io/ingress-nginx", version: "v0.0.0-20240708192948-52c50467d67d", sum: "h1:tZui5g6S4GO1hxLm6yrEoIXLkl4QfeGytlmZqZ+DmdQ="},
	"descheduler":     {module: "sigs.k8s.io/descheduler", version: "v0.36.0", sum: "h1:fBemfJD1RhmbsdH94lKwGMOwQcbsrw67A5IK2c2fANA="},
	"kueue":           {module: "sigs.k8s.io/kueue", version: "v0.17.0", sum: "h1:7hzb38M4eKGzYW+CFv2s1L+swzzacUCHOCXxZmAV90I="},
	"metricsServer":   {module: "sigs.k8s.io/metrics-server", version: "v0.9.0", sum: "h1:nlqqZ2H0Xfko8eJC/1qaNVVT17hu4rxndkOi22KTZ4w="},
	"externalDNS":     {module: "sigs.k8s.io/external-dns", version: "v0.20.0", sum: "h1:rJ4Q5c32NStvI8J+u2nyM4bcKxZG4g1NLPL0p994U9M="},
	"karpenter":       {module: "github.com/aws/karpenter-provider-aws", version: "v1.8.2", sum: "h1:oSx4o/7myDNRGXL6YxfielfczQ/8lOYqL03LzfmdqW8="},
	"istio":           {module: "istio.io/istio", version: "v0.0.0-20260827124520-eed52ebb66ad", sum: "h1:ui9TJjRMAV/hb5ehQaZDq7IUGxuQP6dra9lapT/VjHI="},
	"calico":          {module: "github.com/projectcalico/calico", version: "v1.11.0-cni-plugin.0.20250813170300-a0db560f0520", sum: "h1:TXnPEzx4pLWgwzCetIO/VJuz4iBZZrOdNSv16a50YqE="},
}

// chart is one chart as `helm template` renders it with these values, and what is wrong with it: budgets and findings
// were worked out from the templates and values of the chart, before the command was asked.
type chart struct {
	name, module, folder string
	// values are those of `helm template --set`.
	values string
	// budgets are the PodDisruptionBudgets, and reason says what each of them demands of how many pods.
	budgets int
	reason  string
	// finds are "CODE OBJECT". Each is a budget that lets no pod go while its workload is as small as the chart makes it.
	finds []string
	// fails is in the error of an input that cannot be judged.
	fails string
}

const (
	never  = string(lint.BudgetNeverAllows) + " PodDisruptionBudget infra/"
	atIdle = string(lint.BudgetBlocksAtMinReplicas) + " PodDisruptionBudget infra/"
	// Without a cluster, Helm takes the Kubernetes version that it was built with, and knows of no kinds in API versions.
	kubeVersion, apiVersions = "v1.36.0", "policy/v1/PodDisruptionBudget"
)

var charts = []chart{
	{name: "cert-manager", module: "certManager", folder: "deploy/charts/cert-manager", reason: "podDisruptionBudget.enabled is false for all three"},
	{
		name: "cert-manager", module: "certManager", folder: "deploy/charts/cert-manager",
		values:  "podDisruptionBudget.enabled=true,webhook.podDisruptionBudget.enabled=true,cainjector.podDisruptionBudget.enabled=true",
		budgets: 3, reason: "minAvailable: 1 is the default of the templates, and each of the three replicaCount is 1",
		finds: []string{never + "cert-manager", never + "cert-manager-cainjector", never + "cert-manager-webhook"},
	},
	{
		name: "cert-manager", module: "certManager", folder: "deploy/charts/cert-manager",
		values:  "replicaCount=2,podDisruptionBudget.enabled=true,webhook.podDisruptionBudget.enabled=true,webhook.podDisruptionBudget.maxUnavailable=1",
		budgets: 2, reason: "1 of 2 pods may go, and maxUnavailable: 1 of 1",
	},
	{
		name: "cert-manager-approver-policy", module: "approverPolicy", folder: "deploy/charts/approver-policy", values: "podDisruptionBudget.enabled=true",
		budgets: 1, reason: "minAvailable: 1 is the default, replicaCount is 1", finds: []string{never + "cert-manager-approver-policy"},
	},
	{
		name: "trust-manager", module: "trustManager", folder: "deploy/charts/trust-manager", values: "podDisruptionBudget.enabled=true",
		budgets: 1, reason: "minAvailable: 1 is the default, replicaCount is 1", finds: []string{never + "trust-manager"},
	},
	{name: "chaos-mesh", module: "chaosMesh", folder: "helm/chaos-mesh", reason: "the chart has no budget"},
	{
		name: "cilium", module: "cilium", folder: "install/kubernetes/cilium", values: "operator.podDisruptionBudget.enabled=true",
		budgets: 1, reason: "maxUnavailable: 1 of the operator's 2 replicas",
	},
	{
		name: "elastic-operator", module: "eck", folder: "deploy/eck-operator", values: "podDisruptionBudget.enabled=true",
		budgets: 1, reason: "minAvailable: 1, replicaCount is 1", finds: []string{never + "elastic-operator"},
	},
	{
		name: "eck-elasticsearch", module: "eck", folder: "deploy/eck-stack/charts/eck-elasticsearch",
		reason: "its one object is an Elasticsearch, whose operator makes pods and budget", fails: "is not of a kind that purekube reads",
	},
	{
		name: "external-secrets", module: "externalSecrets", folder: "deploy/charts/external-secrets",
		values:  "podDisruptionBudget.enabled=true,webhook.podDisruptionBudget.enabled=true,certController.podDisruptionBudget.enabled=true",
		budgets: 3, reason: "minAvailable: 1, and each of the three replicaCount is 1",
		finds: []string{never + "external-secrets-cert-controller-pdb", never + "external-secrets-pdb", never + "external-secrets-webhook-pdb"},
	},
	{name: "kubeflow-trainer", module: "trainer", folder: "charts/kubeflow-trainer", reason: "the chart has no budget"},
	{
		name: "kyverno", module: "kyverno", folder: "charts/kyverno", values: "admissionController.replicas=3,cleanupController.podDisruptionBudget.enabled=true",
		budgets: 2, reason: "minAvailable: 1 of 3, and of the cleanup controller's 1. The 5 Pods of `helm test` and 3 Jobs are hooks",
		finds: []string{never + "kyverno-cleanup-controller"},
	},
	{
		name: "kyverno-policies", module: "kyverno", folder: "charts/kyverno-policies",
		reason: "its objects are ClusterPolicies", fails: "is of a kind that purekube reads",
	},
	{name: "gatekeeper", module: "gatekeeper", folder: "charts/gatekeeper", budgets: 1, reason: "minAvailable: 1 of 3 replicas"},
	{
		name: "gatekeeper", module: "gatekeeper", folder: "charts/gatekeeper", values: "replicas=1", budgets: 1,
		reason: "minAvailable: 1 of 1", finds: []string{never + "gatekeeper-controller-manager"},
	},
	{name: "ingress-nginx", module: "ingressNginx", folder: "charts/ingress-nginx", reason: "1 replica has no budget"},
	{
		name: "ingress-nginx", module: "ingressNginx", folder: "charts/ingress-nginx",
		values:  "controller.autoscaling.enabled=true,controller.autoscaling.minReplicas=2,controller.minAvailable=2",
		budgets: 1, reason: "minAvailable: 2, and an autoscaler from 2 to 11", finds: []string{atIdle + "ingress-nginx-controller"},
	},
	{name: "descheduler", module: "descheduler", folder: "charts/descheduler", reason: "a CronJob without a budget"},
	{
		name: "kueue", module: "kueue", folder: "charts/kueue", values: "controllerManager.podDisruptionBudget.enabled=true",
		budgets: 1, reason: "minAvailable: 1, replicas is 1", finds: []string{never + "kueue-manager-pdb"},
	},
	{
		name: "metrics-server", module: "metricsServer", folder: "charts/metrics-server", values: "podDisruptionBudget.enabled=true,podDisruptionBudget.minAvailable=1",
		budgets: 1, reason: "minAvailable: 1, replicas is 1", finds: []string{never + "metrics-server"},
	},
	{
		name: "metrics-server", module: "metricsServer", folder: "charts/metrics-server", values: "podDisruptionBudget.enabled=true,replicas=3",
		budgets: 1, reason: "neither minAvailable nor maxUnavailable has a default, and such a budget allows nothing", finds: []string{never + "metrics-server"},
	},
	{name: "external-dns", module: "externalDNS", folder: "charts/external-dns", reason: "the chart has no budget"},
	{
		name: "karpenter", module: "karpenter", folder: "charts/karpenter", values: "settings.clusterName=east",
		budgets: 1, reason: "maxUnavailable: 1 of 2 replicas. Its role for admin has no wildcard",
	},
	{name: "karpenter-crd", module: "karpenter", folder: "charts/karpenter-crd", reason: "CustomResourceDefinitions", fails: "is of a kind that purekube reads"},
	{name: "istio-base", module: "istio", folder: "manifests/charts/base", reason: "CustomResourceDefinitions and a webhook", fails: "is of a kind that purekube reads"},
	{name: "istiod", module: "istio", folder: "manifests/charts/istio-control/istio-discovery", reason: "autoscaleMin is 1: no budget"},
	{
		name: "istiod", module: "istio", folder: "manifests/charts/istio-control/istio-discovery", values: "autoscaleMin=2",
		budgets: 1, reason: "minAvailable: 1, and an autoscaler from 2",
	},
	{
		name: "istio-gateway", module: "istio", folder: "manifests/charts/gateway", values: "autoscaling.minReplicas=2,podDisruptionBudget.minAvailable=2",
		budgets: 1, reason: "minAvailable: 2, and an autoscaler from 2 to 5", finds: []string{atIdle + "istio-gateway"},
	},
	{name: "istio-ingress", module: "istio", folder: "manifests/charts/gateways/istio-ingress", reason: "autoscaleMin is 1: no budget"},
	{
		name: "istio-egress", module: "istio", folder: "manifests/charts/gateways/istio-egress", values: "gateways.istio-egressgateway.autoscaleMin=2",
		budgets: 1, reason: "minAvailable: 1, and an autoscaler from 2",
	},
	{name: "ztunnel", module: "istio", folder: "manifests/charts/ztunnel", reason: "a DaemonSet without a budget"},
	{name: "istio-cni", module: "istio", folder: "manifests/charts/istio-cni", reason: "a DaemonSet without a budget"},
	{name: "calico", module: "calico", folder: "charts/calico", budgets: 1, reason: "maxUnavailable: 1 of 1: it may go"},
	{name: "tigera-operator", module: "calico", folder: "charts/tigera-operator", reason: "a Deployment without a budget, and a hook Job"},
}

// The chart of each name is there, and lint, plan, drain and report say of it what its templates and values say.
func TestRenderedCharts(t *testing.T) {
	command, renderer := build(t), buildRenderer(t)
	folders := map[string]bool{}
	for _, c := range charts {
		folders[c.module+"/"+c.folder] = true
		t.Run(c.name+","+c.values, func(t *testing.T) {
			t.Parallel()
			r := rendered{command, renderer.render(t, c, kubeVersion, apiVersions)}
			require.Equal(t, c.budgets, strings.Count("\n"+r.text(t), "\nkind: PodDisruptionBudget\n"))
			if c.fails != "" {
				status, out := r.run(t, "lint")
				require.Equal(t, 1, status)
				require.Contains(t, out, c.fails)
				return
			}
			r.judged(t, c)
		})
	}
	require.GreaterOrEqual(t, len(folders), 25)
}

// A Helm that was built from source takes Kubernetes for v1.20, and charts then render policy/v1beta1. The error says how
// to render them for clusters of today.
func TestChartThatRendersAnOldVersion(t *testing.T) {
	command, renderer := build(t), buildRenderer(t)
	c := chart{
		name: "metrics-server", module: "metricsServer", folder: "charts/metrics-server",
		values: "podDisruptionBudget.enabled=true,podDisruptionBudget.maxUnavailable=1",
	}
	status, out := rendered{command, renderer.render(t, c, "v1.20.0", "")}.run(t, "lint")
	require.Equal(t, 1, status)
	require.Contains(t, out, "PodDisruptionBudget infra/metrics-server: apiVersion: is policy/v1beta1")
	require.Contains(t, out, "(with helm template, add --kube-version and --api-versions "+apiVersions+")")
	status, out = rendered{command, renderer.render(t, c, kubeVersion, apiVersions)}.run(t, "lint")
	require.Equal(t, 0, status, out)
}

// rendered is a file with the manifests of a chart.
type rendered struct{ command, file string }

func (r rendered) text(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(r.file)
	require.NoError(t, err)
	return string(text)
}

// run returns the exit status and both outputs.
func (r rendered) run(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), r.command, append(args, "-f", filepath.Base(r.file))...)
	cmd.Dir = filepath.Dir(r.file)
	both, _ := cmd.CombinedOutput() // a status other than 0 is an error
	require.NotNil(t, cmd.ProcessState)
	require.NotContains(t, string(both), "panic")
	return cmd.ProcessState.ExitCode(), string(both)
}

var findingLine = regexp.MustCompile(`(?m)^\S+: (?:error|warning|info) (\w+): (\w+ [^:]+): `)

// judged asks all four commands about the chart on three nodes.
func (r rendered) judged(t *testing.T, c chart) {
	t.Helper()
	const ok, never, finding = 0, 4, 5
	status, out := r.run(t, "lint", "--fail-on", "warning")
	var found []string
	withoutPolicy := 0
	for _, m := range findingLine.FindAllStringSubmatch(out, -1) {
		if m[1] == string(lint.UnhealthyPodEvictionPolicy) {
			withoutPolicy++
			continue
		}
		found = append(found, m[1]+" "+m[2])
	}
	require.Equal(t, c.budgets-strings.Count(r.text(t), "\n  unhealthyPodEvictionPolicy: "), withoutPolicy, out)
	slices.Sort(found)
	require.Equal(t, c.finds, found, "%s\n%s", c.reason, out)
	blocks := ok
	if len(c.finds) > 0 {
		require.Equal(t, finding, status)
		blocks = never
	} else {
		require.Equal(t, ok, status, out)
	}
	atFullHealth := []string{"--at-full-health", "--nodes", "3", "--none", "pdb,pods"}
	status, out = r.run(t, slices.Concat([]string{"plan", "--builtin-roles", "--fail-on", "never"}, atFullHealth)...)
	require.Equal(t, blocks, status, "plan: %s\n%s", c.reason, out)
	filters := []string{"--ignore-daemonsets", "--delete-emptydir-data", "--force"}
	status, out = r.run(t, slices.Concat([]string{"drain", "all", "--fail-on", "never"}, filters, atFullHealth)...)
	require.Equal(t, blocks, status, "drain: %s\n%s", c.reason, out)
	status, out = r.run(t, slices.Concat([]string{"report", "--builtin-roles", "--fail-on", "never"}, filters, atFullHealth)...)
	require.Equal(t, blocks, status, "report: %s", c.reason)
	require.Contains(t, out, "</html>")
	for _, f := range c.finds {
		require.Contains(t, out, f[strings.LastIndex(f, "/")+1:])
	}
}

// helm is the command of the folder render.
type helm string

func buildRenderer(t *testing.T) helm {
	t.Helper()
	command := filepath.Join(t.TempDir(), "render")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", command, ".")
	cmd.Dir = "render"
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return helm(command)
}

// render returns the file with the manifests of the chart.
func (h helm) render(t *testing.T, c chart, kubeVersion, apiVersions string) string {
	t.Helper()
	module, found := chartModules[c.module]
	require.True(t, found, c.module)
	cmd := exec.CommandContext(t.Context(), string(h), filepath.Join(module.download(t), c.folder), c.name, "infra", kubeVersion, apiVersions, c.values)
	out, err := cmd.Output()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "chart.yaml")
	require.NoError(t, os.WriteFile(file, out, 0o600))
	return file
}
