package resourceclaim

// Action is one write to the API server. It is one of
//
//   - [CreateClaim]
//   - [SetClaimStatuses]
//   - [Reserve]
//   - [Release]
//   - [RemoveFinalizer]
//   - [DeleteClaim]
//
// The order within a result is part of the decision: a claim is created before the pod's
// status names it, released before its finalizer goes, and without its finalizer before it is
// deleted. Stop at the first action that fails, take a new snapshot and plan again.
type Action interface {
	isAction()
	// String is one line for logs and dry runs.
	String() string
}

var (
	_ Action = CreateClaim{}
	_ Action = SetClaimStatuses{}
	_ Action = Reserve{}
	_ Action = Release{}
	_ Action = RemoveFinalizer{}
	_ Action = DeleteClaim{}
)

func (CreateClaim) isAction()      {}
func (SetClaimStatuses) isAction() {}
func (Reserve) isAction()          {}
func (Release) isAction()          {}
func (RemoveFinalizer) isAction()  {}
func (DeleteClaim) isAction()      {}
