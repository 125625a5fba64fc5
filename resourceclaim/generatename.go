package resourceclaim

import "strings"

// maxGenerateName is how long a generateName may be so that the five characters that the API
// server adds, and the dash before them, fit into 63 (BR-30-03).
const maxGenerateName = 57

// GenerateName is the generateName of the claim that is created for an entry of a pod's
// spec.resourceClaims: "<pod>-<entry>-" where that has at most 57 bytes. Of a longer one both
// names are shortened in proportion to their length and there is no dash at the end
// (BR-30-03; handleClaim in upstream's controller.go).
//
// Whatever valid names go in, the result with five characters added is a valid object name in
// which at least one character of each name is left (D-9). Upstream's is not in three cases:
// the cut falls behind a dot of the pod's name, or leaves nothing of the pod's name, or
// nothing of the entry's.
func GenerateName(podName, podClaimName string) string {
	return generateName(podName, podClaimName, false)
}

func generateName(pod, entry string, matchUpstream bool) string {
	whole := pod + "-" + entry + "-"
	if len(whole) <= maxGenerateName {
		return whole
	}
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
