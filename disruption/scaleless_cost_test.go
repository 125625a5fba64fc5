package disruption

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Whoever looks up the scales of 5,000 objects at the same time gets as many answers that say the same of their kind.
// What they say of the kind is looked at once, since that is a look at all of its objects.
func TestManyAnswersAboutOneKindAreOneChange(t *testing.T) {
	var changes []scaleChange
	for i := range 5000 {
		kind := []string{"Note", "Memo"}[i%2]
		changes = append(changes, scaleChange{
			key:   ScaleKey{Group: "example.com", Kind: kind, Namespace: ns, Name: fmt.Sprint(i)},
			after: Scale{Err: "notes.example.com" + noScaleText},
		})
	}
	_, changed := newWorkloads(Snapshot{}, Options{}).changeScaleless(changes)
	require.Equal(t, []schema.GroupKind{{Group: "example.com", Kind: "Memo"}, {Group: "example.com", Kind: "Note"}}, changed)
}
