package resourceclaim

import "strings"

// maxGenerateName is the maximum length of a generateName: with the five characters that the API server adds, the name
// has at most 63 (BR-30-03).
const maxGenerateName = 57

// GenerateName returns the generateName of the claim that is created for an entry of a pod's spec.resourceClaims:
// "<pod>-<entry>-" if that has at most 57 bytes. If it is longer, both names are shortened in proportion to their
// length, and there is no dash at the end (BR-30-03; handleClaim in upstream's controller.go).
//
//	pod          entry        generateName
//	train-0      gpu          train-0-gpu-
//	50 bytes     20 bytes     39 bytes of the pod, a dash, 15 bytes of the entry
//	1 byte       57 bytes     1 byte of the pod, a dash, 54 bytes of the entry (D-9; upstream: a leading dash)
//
// For all valid names, the result with five added characters is a valid object name that has at least one character of
// each name (D-9). Upstream's result breaks this rule in three cases: the cut is after a dot of the pod's name, or
// leaves nothing of the pod's name, or leaves nothing of the entry's name.
func GenerateName(podName, podClaimName string) string {
	return generateName(podName, podClaimName, false)
}

// generateName is GenerateName in both modes. It takes any text, and cuts bytes: names of the API are ASCII.
func generateName(pod, entry string, matchUpstream bool) string {
	whole := pod + "-" + entry + "-"
	if len(whole) <= maxGenerateName {
		return whole
	}
	// The API server would cut a longer name at its end, where the entry's name is: two entries of a pod would have the
	// same prefix, and nobody could see which claim is for which entry.
	podPart := len(pod) * maxGenerateName / len(whole)
	entryPart := len(entry) * maxGenerateName / len(whole)
	if matchUpstream {
		return pod[:podPart] + "-" + entry[:entryPart]
	}
	// D-9: something is left of each name, and the other one makes room for it.
	if podPart == 0 {
		podPart = min(1, len(pod))
		entryPart = min(entryPart, maxGenerateName-1-podPart)
	}
	if entryPart == 0 {
		entryPart = min(1, len(entry))
		podPart = min(podPart, maxGenerateName-1-entryPart)
	}
	// D-9: a dot ends a label, and a label cannot start with the dash that follows.
	return strings.TrimRight(pod[:podPart], ".") + "-" + entry[:entryPart]
}
