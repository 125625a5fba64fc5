package snapshot

import (
	"cmp"
	"errors"
	"slices"

	"github.com/purekube/purekube"
)

// Problems collects what is wrong with the objects of a snapshot. The zero value is empty.
type Problems struct {
	found []*purekube.ObjectError
}

// Add adds problems.
func (p *Problems) Add(e ...*purekube.ObjectError) { p.found = append(p.found, e...) }

// Err joins the problems, sorted by kind, namespace, name, field and text, each once. It returns nil if there are
// none.
func (p *Problems) Err() error {
	if len(p.found) == 0 {
		return nil
	}
	sorted := slices.Clone(p.found)
	slices.SortStableFunc(sorted, compare)
	sorted = slices.CompactFunc(sorted, func(a, b *purekube.ObjectError) bool { return compare(a, b) == 0 })
	errs := make([]error, len(sorted))
	for i, e := range sorted {
		errs[i] = e
	}
	return errors.Join(errs...)
}

func compare(a, b *purekube.ObjectError) int {
	return cmp.Or(
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Field, b.Field),
		cmp.Compare(a.Error(), b.Error()),
	)
}
