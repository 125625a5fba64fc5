package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/internal/test/e2e/cluster"
	"github.com/purekube/purekube/manifests"
)

// The command reads the API server: as an administrator, as a user without rights, as one with the ClusterRole of the command's
// page, and with a token that nobody knows. It is asked under the name of a plugin.
func TestCommandReadsTheCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ns := w.namespace(t, "command")
	for _, name := range []string{"worker-1", "worker-2"} {
		node, err := w.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pool": "a"}}}, metav1.CreateOptions{})
		require.NoError(t, err)
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		node.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}
		node, err = w.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
		require.NoError(t, err)
		node.Spec.Taints = nil // of a node that has just come
		_, err = w.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	web := w.createReplicaSet(t, ns, "web", 2)
	w.createBudget(t, ns, "web", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(0))})
	w.drainable(t, ns, "web", web, "worker-1", 1)
	w.drainable(t, ns, "web-elsewhere", web, "worker-2", 1)
	// A kind of its own, with a scale.
	w.createCustomResource(t, "games", "Game", true)
	game := w.createCustom(t, ns, "games", "Game", "game", 1)
	w.createBudget(t, ns, "game", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1))})
	w.drainable(t, ns, "game", game, "worker-2", 1)

	program := w.buildCommand(t)
	ask := func(kubeconfig string, args ...string) (status int, text string) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	admin, err := w.Kubeconfig(cluster.Admin, w.Endpoint())
	require.NoError(t, err)

	status, text := ask(admin, "drain", "node/worker-1", "--fail-on", "never")
	require.Equal(t, 4, status, text)
	require.Contains(t, text, "The cluster of context e2e, at https://")
	require.Contains(t, text, "budget "+ns+"/web (maxUnavailable 0) never allows a disruption")
	require.Contains(t, text, "with maxUnavailable 1: drains now")
	status, text = ask(admin, "drain", "-l", "pool=a", "-o", "json")
	require.Zero(t, status, text)
	require.Contains(t, text, `"node": "worker-2"`)
	status, text = ask(admin, "explain", "pdb/"+ns+"/game")
	require.Zero(t, status, text)
	require.Contains(t, text, "Game game expects 1 pod", "its scale was looked up")
	status, text = ask(admin, "explain", "node/worker-1")
	require.Zero(t, status, text)
	require.Contains(t, text, "--force: never")
	status, text = ask(admin, "lint", "--live")
	require.Equal(t, 5, status, text)
	require.Contains(t, text, "PodDisruptionBudget "+ns+"/web")

	if kubectl, err := exec.LookPath("kubectl"); err == nil {
		plugin := exec.CommandContext(t.Context(), kubectl, "purekube", "drain", "worker-1", "--fail-on", "never")
		plugin.Env = append(os.Environ(), "KUBECONFIG="+admin, "PATH="+w.folder+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := plugin.CombinedOutput()
		require.Error(t, err, "the exit status is the plugin's")
		require.Contains(t, string(out), "never allows a disruption")
		require.Equal(t, 4, plugin.ProcessState.ExitCode())
	} else {
		t.Log("there is no kubectl")
	}

	// Nobody gave jane a right.
	status, text = ask(admin, "drain", "worker-1", "--as", "jane")
	require.Equal(t, 1, status, text)
	require.Contains(t, text, "no right to list pods in the whole cluster: ")
	require.Contains(t, text, `no right to list poddisruptionbudgets in the whole cluster: poddisruptionbudgets.policy is forbidden: User "jane" cannot list resource`)

	page, err := os.ReadFile(filepath.Join("..", "..", "..", "cmd", "purekube", "README.md"))
	require.NoError(t, err)
	_, role, found := strings.Cut(string(page), "```yaml\n")
	require.True(t, found)
	role, _, _ = strings.Cut(role, "```")
	set, err := manifests.Load(manifests.Options{Stdin: strings.NewReader(role)}, "-")
	require.NoError(t, err)
	_, err = w.RbacV1().ClusterRoles().Create(t.Context(), set.ClusterRoles[0], metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = w.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "jane"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: set.ClusterRoles[0].Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "jane"}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	for _, args := range []string{"drain worker-1", "plan", "report", "diff", "lint --live"} {
		_, text = ask(admin, append(strings.Fields(args), "--as", "jane")...)
		require.NotContains(t, text, "no right to", args)
	}
	status, text = ask(admin, "plan", "--core", "disruption", "--explain", "--as", "jane")
	require.Zero(t, status, text)
	require.Contains(t, text, "Note: the scale of Game "+ns+"/game is not known: ", "the role has no right to read it")

	_, text = ask(admin, "plan", "-n", "nowhere")
	require.Contains(t, text, "no object of these kinds is in namespace nowhere")
	stranger, err := w.KubeconfigWith("stranger", "expired", w.Endpoint())
	require.NoError(t, err)
	status, text = ask(stranger, "drain", "worker-1")
	require.Equal(t, 1, status, text)
	require.Contains(t, text, "purekube: list of pods: Unauthorized\n")
	status, text = ask(admin, "drain", "worker-1", "--context", "nowhere")
	require.Equal(t, 1, status, text)
	require.Equal(t, "purekube: context \"nowhere\" does not exist\n", text)
}
