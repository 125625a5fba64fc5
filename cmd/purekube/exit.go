package main

import (
	"fmt"
	"slices"
	"strings"
)

// The exit statuses. Of several that hold, the program ends with the first in the order input, plan, never,
// to do.
const (
	exitPlanned = 0
	exitInput   = 1
	exitToDo    = 2
	exitPlan    = 3
	exitNever   = 4
	exitFound   = 5
)

const exitStatusHelp = `
exit status:
  0  none of the following
  1  the input is wrong (a file, a document, a field, an object that is there twice), or objects that an answer
     depends on may be missing from it. Other answers are printed all the same
  2  with --fail-on action: there is something to do
  3  with --fail-on error: the input could be read, and a plan ended with an error
  4  with --fail-on never: a PodDisruptionBudget never allows a disruption, or it is not known whether it does. With
     drain: a node does not drain, is in no wave, or it is not known whether it does
  5  lint found something of the severity of its --fail-on, or worse
`

// The values of --fail-on.
const (
	failOnError  = "error"
	failOnAction = "action"
	failOnNever  = "never"
	failOnNone   = "none"
)

var failOns = []string{failOnError, failOnAction, failOnNever, failOnNone}

// failOnsOfDrain are the values for drain, which has nothing to do.
var failOnsOfDrain = []string{failOnError, failOnNever, failOnNone}

func parseFailOn(list string, known []string) ([]string, error) {
	values := strings.Split(list, ",")
	for _, v := range values {
		if !slices.Contains(known, v) {
			return nil, fmt.Errorf("%q: must be one of %s", v, strings.Join(known, ", "))
		}
	}
	return values, nil
}

// status is the exit status of the report.
func (r *report) status(set settings) int {
	failOn := set.failOn
	wrongInput, wrongPlan := false, false
	for _, p := range r.problems {
		wrongInput = wrongInput || !p.ofPlan
		wrongPlan = wrongPlan || p.ofPlan
	}
	switch {
	case wrongInput:
		return exitInput
	case wrongPlan && slices.Contains(failOn, failOnError):
		return exitPlan
	case r.neverDrainable() && slices.Contains(failOn, failOnNever):
		return exitNever
	case r.somethingToDo() && slices.Contains(failOn, failOnAction):
		return exitToDo
	}
	return exitPlanned
}
