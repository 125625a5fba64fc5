package purekube

// Need is one object to look up at the API server. The object is not in the snapshot, which does not prove that it
// does not exist. A Need is the key of a snapshot's Answers.
type Need struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Subresource is empty for the object itself, or for example "scale".
	Subresource string `json:"subresource,omitempty"`
}

// String is the kind, with the subresource if there is one, the namespace and the name: "Deployment/scale shop/web".
func (n Need) String() string {
	// The apiVersion is left out: the text is for people. Compare Needs as values.
	text := n.Kind
	if n.Subresource != "" {
		text += "/" + n.Subresource
	}
	text += " "
	if n.Namespace != "" {
		text += n.Namespace + "/"
	}
	return text + n.Name
}

// Answer is what the lookup of a [Need] found. The zero value says that the API server has no such object.
type Answer struct {
	// Object is the object that the API server returned. The Snapshot of each package lists the types that it accepts.
	// An object of another type is an error of the plans that read it.
	Object any
	// Err is why the object is not available: a kind that has no scale, for example. For disruption, Err is an answer:
	// the budget allows no disruption. For resourceclaim, Err is no answer: the plan still has the Need, and returns
	// the error.
	Err error
}
