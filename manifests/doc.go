// Package manifests reads Kubernetes objects from files into the snapshots of the five packages: YAML and JSON, lists
// and documents, gzip, directories, and what kubectl get prints.
//
//	set, err := manifests.Load(manifests.Options{}, "chart.yaml", "overlays/")
//	if err != nil {
//		// set has what could be read all the same
//	}
//	result, err := disruption.PlanAll(set.Disruption(time.Now()), disruption.Options{})
//
// It is strict about fields and lenient about kinds. A field that does not exist, a key that is given twice, and an
// API version that is no longer served are errors that name file, document, object and field. An object of a kind that
// no package reads is not an error: [Set.Ignored] lists it.
//
// You have these duties:
//
//  1. Treat the objects as read-only. Snapshots and sets share them.
//  2. Look at [Set.Complete] and [Set.Seen] before you believe an answer that more objects could make stricter. Input
//     that was cut off, and a dump without PodDisruptionBudgets, both make a drain look easy.
//  3. Where the input has workloads and no pods, as a chart has, ask [Set.AtFullHealth] for the pods.
//
// Load reads files, and decodes on all processors. Everything else here is pure: no clock, no randomness, and the same
// input makes the same objects.
package manifests
