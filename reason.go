package purekube

// Reason is one step on the way to a decision. Code is the type of a package's reason codes: a set of constants that is
// closed in each version of the package.
type Reason[Code ~string] struct {
	// Field is the path of the field that the step is about, for example "status.reservedFor[0]". If it is empty, the
	// step is about the object as a whole.
	Field string `json:"field,omitempty"`
	// Code is the machine-readable reason, in CamelCase. A new version of a package may add
	// codes.
	Code Code `json:"code"`
	// Object is the other object that the step looked at. It is the zero Key if there is none.
	Object Key `json:"object,omitzero"`
	// Message is the sentence for people.
	Message string `json:"message"`
}

// String is the field and the message.
func (r Reason[Code]) String() string {
	if r.Field == "" {
		return r.Message
	}
	return r.Field + ": " + r.Message
}
