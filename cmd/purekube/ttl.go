package main

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/ttl"
)

// ttlStep reads the value of --ttl-step.
func ttlStep(s string) (int, error) {
	step, err := strconv.Atoi(s)
	last := len(ttl.Steps()) - 1
	if err != nil || step < 0 || step > last {
		return 0, fmt.Errorf("must be a step, 0 to %d", last)
	}
	return step, nil
}

func planTTL(c *cluster, set settings) section {
	index := ttl.NewIndex(ttl.Snapshot{Nodes: c.Nodes}, ttl.Options{})
	known := "recovered from the nodes"
	if set.ttlStep != nil {
		index = ttl.NewIndex(ttl.Snapshot{Step: *set.ttlStep, Nodes: c.Nodes}, ttl.Options{})
		known = "given"
	} else {
		index, _ = index.Recover()
	}
	outcomes, err := index.PlanAll()
	// Their error is PlanAll's.
	why, _ := index.ExplainStep()
	explanations, _ := index.ExplainAll()

	s := section{Headline: fmt.Sprintf("%s, step %d: %s for %s", message.Count(why.Nodes, "node"), why.Step,
		why.Boundary.TTL, bounds(why)), Err: err}
	reasons := map[purekube.Key][]ttl.Reason{}
	explained := map[purekube.Key]ttl.Explanation{}
	annotations := map[purekube.Key]string{}
	for _, e := range explanations {
		reasons[e.Key], explained[e.Key] = e.Reasons, e
		switch e.Reasons[0].Code {
		case ttl.ReasonAnnotationMissing:
			annotations[e.Key] = "it has no annotation " + ttl.Annotation
		case ttl.ReasonAnnotationNotInteger:
			annotations[e.Key] = fmt.Sprintf("its annotation is not an integer: %q", *e.Annotation)
		case ttl.ReasonAnnotationDiffers:
			annotations[e.Key] = fmt.Sprintf("its annotation says %q", *e.Annotation)
		}
	}
	var annotated []string
	if set.explain {
		s.Explanation = explainTTL(why, known, len(annotations))
	}
	for _, o := range outcomes {
		f := findingOf(purekube.Key{Kind: o.Key.Kind, Name: o.Key.Name}, o.Result, o.Err,
			func(a ttl.Action) (more, why string) { return "", annotations[o.Key] })
		f.Reasons = reasonsOf(reasons[o.Key])
		if set.explain {
			f.Explained = explained[o.Key]
		}
		s.Findings = append(s.Findings, f)
		if len(f.Actions) > 0 {
			annotated = append(annotated, o.Key.Name)
		}
	}
	if len(annotated) > 0 && !set.explain && err == nil {
		s.Brief = "SetTTL of " + list(annotated, namesListed)
	}
	return s
}

// bounds is "0 to 100 nodes", or "1800 nodes and more" for the last step.
func bounds(why ttl.StepExplanation) string {
	if why.UpAt == 0 {
		return fmt.Sprintf("%d nodes and more", why.Boundary.SizeMin)
	}
	return fmt.Sprintf("%d to %d nodes", why.Boundary.SizeMin, why.Boundary.SizeMax)
}

func explainTTL(why ttl.StepExplanation, known string, differ int) []string {
	lines := []string{fmt.Sprintf("the cluster was at step %d (%s); %s %s it step %d",
		why.From, known, message.Count(why.Nodes, "node"), verb(why.Nodes, "makes", "make"), why.Step)}
	if why.UpAt > 0 {
		lines = append(lines, fmt.Sprintf("at %d nodes or more, the step is higher", why.UpAt))
	}
	if why.DownAt >= 0 {
		lines = append(lines, fmt.Sprintf("at %d nodes or fewer, the step is lower", why.DownAt))
	}
	return append(lines, fmt.Sprintf("%d of %s %s a new annotation %s",
		differ, message.Count(why.Nodes, "node"), verb(differ, "needs", "need"), corev1.ObjectTTLAnnotationKey))
}
