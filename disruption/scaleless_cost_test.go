package disruption

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
)

// Whoever looks up the scales of 5,000 objects at the same time gets as many answers that say the same of their kind.
// What they say of the kind is looked at once, since that is a look at all of its objects.
func TestManyAnswersAboutOneKindAreOneChange(t *testing.T) {
	answers := map[purekube.Need]purekube.Answer{}
	for i := range 5000 {
		kind := []string{"Note", "Memo"}[i%2]
		answers[scaleNeed("example.com", kind, ns, fmt.Sprint(i))] = purekube.Answer{Err: errors.New("notes.example.com" + noScaleText)}
	}
	_, _, changed := newAnswers(nil).changed(answers, true)
	require.Equal(t, []schema.GroupKind{{Group: "example.com", Kind: "Memo"}, {Group: "example.com", Kind: "Note"}}, changed)
}
