package rbacaggregate

import "github.com/purekube/purekube"

// Reason is one step on the way to the rules of a ClusterRole. Its Field is the selector that the
// step is about, its Object the other ClusterRole.
type Reason = purekube.Reason[Code]

// Code is the machine-readable part of a [Reason].
type Code string

// What is known about the ClusterRole as a whole.
const (
	NotAggregated Code = "NotAggregated" // it has no aggregationRule and keeps its rules
	DuplicateName Code = "DuplicateName" // the snapshot holds two ClusterRoles of its name
	NoSelectors   Code = "NoSelectors"   // its aggregationRule has no selectors and collects nothing
)

// What one selector comes to.
const (
	InvalidSelector   Code = "InvalidSelector"   // it does not convert to a label selector
	NothingSelected   Code = "NothingSelected"   // no other ClusterRole matches
	SelectedBefore    Code = "SelectedBefore"    // whatever matches was matched by a selector before it
	SelectsItself     Code = "SelectsItself"     // the ClusterRole itself matches, which adds nothing (BR-27-03)
	AmbiguousSource   Code = "AmbiguousSource"   // a name matches that two ClusterRoles have
	ContributesRules  Code = "ContributesRules"  // a ClusterRole without an aggregationRule matches: its rules are added
	ContributesNested Code = "ContributesNested" // a ClusterRole with an aggregationRule matches: the rules that it aggregates are added
	ContributesStored Code = "ContributesStored" // a ClusterRole with an aggregationRule matches: the rules that are stored in it are added
	SourceFails       Code = "SourceFails"       // a ClusterRole matches whose aggregation fails: no rules are added, and those of its stored rules that are stored here too are kept (D-35)
	Cycle             Code = "Cycle"             // a ClusterRole matches that aggregates this one in turn
)

// Why a write may grant a rule, besides ContributesRules and ContributesStored: see [Grant].
const (
	WrittenDirectly Code = "WrittenDirectly" // the write stores it in the ClusterRole itself
	NotRemoved      Code = "NotRemoved"      // the ClusterRole has it, would lose it without the write, and may keep it with it
)

// What the plan is.
const (
	UpToDate     Code = "UpToDate"     // its rules are those that aggregation gives it
	RulesDiffer  Code = "RulesDiffer"  // other rules are written
	RulesUnknown Code = "RulesUnknown" // its rules cannot be known, so nothing is written
)
