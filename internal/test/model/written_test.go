package model

import (
	"k8s.io/apimachinery/pkg/api/equality"
)

// writtenBeyond says which object of a type a write took away, or changed in more than what without takes away.
func writtenBeyond[P interface {
	Object
	comparable
}](s *Step, kind, what string, without func(P)) string {
	var none P
	for _, before := range All[P](s.Before) {
		after := Get[P](s.After, before.GetNamespace(), before.GetName())
		if after == none {
			return kind + " " + before.GetName() + " is gone"
		}
		if changedBeyond(before, after, without) {
			return kind + " " + before.GetName() + " is changed beyond " + what
		}
	}
	return ""
}

// changedBeyond reports whether the object changed in more than what without takes away.
func changedBeyond[P Object](before, after P, without func(P)) bool {
	if before.GetResourceVersion() == after.GetResourceVersion() {
		return false
	}
	b, a := before.DeepCopyObject().(P), after.DeepCopyObject().(P)
	for _, o := range []P{b, a} {
		o.SetResourceVersion("")
		without(o)
	}
	return !equality.Semantic.DeepEqual(b, a)
}
