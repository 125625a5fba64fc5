package rbacaggregate

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Whether an apply without rules leaves the rules that are stored depends on who owns them.
func TestStaysWithoutRules(t *testing.T) {
	mine, alsoMine := ownedBy(FieldManager), ownedBy(FieldManager, "f:metadata")
	other, alsoOther := ownedBy("kubectl"), ownedBy("somebody", "f:metadata")
	unreadable := []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate}}
	updated := ownedBy(FieldManager)
	updated[0].Operation = metav1.ManagedFieldsOperationUpdate
	for _, tc := range []struct {
		name, reason string
		entries      [][]metav1.ManagedFieldsEntry
		stay, known  bool
	}{
		{"no entries", "informers often drop them", nil, true, false},
		{"the controller's", "it gives up what it owns", [][]metav1.ManagedFieldsEntry{mine}, false, true},
		{"the controller's, and an entry of another version", "one of its entries is enough", [][]metav1.ManagedFieldsEntry{mine, alsoMine}, false, true},
		{"somebody else's", "nobody gives up theirs", [][]metav1.ManagedFieldsEntry{other}, true, true},
		{"two owners", "the other one keeps them", [][]metav1.ManagedFieldsEntry{mine, other}, true, true},
		{"two owners, and somebody who owns metadata", "one owner is enough", [][]metav1.ManagedFieldsEntry{mine, other, alsoOther}, true, true},
		{"an update by the controller's name", "another operation is another owner", [][]metav1.ManagedFieldsEntry{mine, updated}, true, true},
		{"nobody's", "there is nothing to give up", [][]metav1.ManagedFieldsEntry{alsoMine, alsoOther}, true, true},
		{"an entry without fields", "what it owns is not known", [][]metav1.ManagedFieldsEntry{mine, unreadable}, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stay, known := staysWithoutRules(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{ManagedFields: slices.Concat(tc.entries...)}})
			require.Equal(t, tc.known, known, tc.reason)
			if known {
				require.Equal(t, tc.stay, stay, tc.reason)
			}
		})
	}
}
