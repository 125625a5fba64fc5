package rbacaggregate

import "github.com/purekube/purekube"

// Reason is one step on the way to a decision. Field is the selector that the step is about, Object the
// other ClusterRole.
type Reason = purekube.Reason[Code]

// Code is the machine-readable part of a [Reason]. It is one of the constants below; a new version may add codes.
type Code string

// What is known about the ClusterRole as a whole.
const (
	ReasonNotAggregated Code = "NotAggregated" // it has no aggregationRule and keeps its rules
	ReasonDuplicate     Code = "Duplicate"     // several ClusterRoles have its name or, for a selector, the name of Object, which it matches
	ReasonNoSelectors   Code = "NoSelectors"   // the aggregationRule has no selectors: no rules are collected
)

// What one selector comes to.
const (
	ReasonInvalidSelector   Code = "InvalidSelector"   // it does not convert to a label selector
	ReasonNothingSelected   Code = "NothingSelected"   // no other ClusterRole matches
	ReasonSelectedBefore    Code = "SelectedBefore"    // whatever matches was matched by a selector before it
	ReasonSelectsItself     Code = "SelectsItself"     // the ClusterRole itself matches, which adds nothing (BR-27-03)
	ReasonContributesRules  Code = "ContributesRules"  // a ClusterRole without an aggregationRule matches: its rules are added
	ReasonContributesNested Code = "ContributesNested" // a ClusterRole with an aggregationRule matches: the rules that it aggregates are added
	ReasonContributesStored Code = "ContributesStored" // a ClusterRole with an aggregationRule matches: the rules that are stored in it are added
	ReasonSourceFails       Code = "SourceFails"       // a ClusterRole matches whose aggregation fails: no rules are added, and those of its stored rules that are stored here too are kept (D-35)
	ReasonCycle             Code = "Cycle"             // a ClusterRole matches that aggregates this one in turn
)

// Why a write may grant a rule, besides ContributesRules and ContributesStored: see [Grant].
const (
	ReasonWrittenDirectly Code = "WrittenDirectly" // the write stores it in the ClusterRole itself
	ReasonNotRemoved      Code = "NotRemoved"      // the ClusterRole has it, would lose it without the write, and may keep it with it
)

// What the plan is.
const (
	ReasonUpToDate     Code = "UpToDate"     // its rules are those that aggregation gives it
	ReasonRulesDiffer  Code = "RulesDiffer"  // other rules are written
	ReasonRulesUnknown Code = "RulesUnknown" // its rules cannot be known, so nothing is written
)
