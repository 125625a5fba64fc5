package resourceclaim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"
)

// proportional is the documented rule on its own: "<pod>-<entry>-" of at most 57 characters, else
// both names shortened in proportion to their share of it, joined by a dash.
func proportional(pod, entry string) string {
	const most = 57
	total := len(pod) + 1 + len(entry) + 1
	if total <= most {
		return pod + "-" + entry + "-"
	}
	share := func(name string) string { return name[:len(name)*most/total] }
	return share(pod) + "-" + share(entry)
}

// names of a length: of letters only, and with a dot or a dash wherever a cut can fall.
func podNamesOf(length int) []string {
	fill := func(pattern string) string {
		name := []byte(strings.Repeat(pattern, length/len(pattern)+1)[:length])
		name[length-1] = 'z'
		return string(name)
	}
	return []string{fill("p"), fill("p."), fill("pq.rs"), fill("p-"), fill("p--q.r--s"), fill("pqr.stuv-w.")}
}

func entryNamesOf(length int) []string {
	fill := func(pattern string) string {
		name := []byte(strings.Repeat(pattern, length/len(pattern)+1)[:length])
		name[length-1] = 'y'
		return string(name)
	}
	return []string{fill("e"), fill("e-"), fill("ef--g"), fill("0-1")}
}

func TestBR3003_GenerateName(t *testing.T) {
	cut, differs := 0, 0
	// Most lengths are cut to the same names: each is looked at once.
	known := map[string]bool{}
	isName := func(name string) bool {
		valid, ok := known[name]
		if !ok {
			valid = len(validation.IsDNS1123Subdomain(name)) == 0
			known[name] = valid
		}
		return valid
	}
	for podLength := 1; podLength <= 253; podLength++ {
		for entryLength := 1; entryLength <= 63; entryLength++ {
			entries := entryNamesOf(entryLength)
			for i, pod := range podNamesOf(podLength) {
				for _, entry := range []string{entries[0], entries[(i+podLength)%len(entries)]} {
					got := GenerateName(pod, entry)
					name := got + "x4z9k"
					if len(name) > 63 || !isName(name) {
						t.Fatalf("D-9: GenerateName(%q, %q) = %q gives %q, which is no object name of at most 63 characters", pod, entry, got, name)
					}
					rule := proportional(pod, entry)
					if rule != pod+"-"+entry+"-" {
						cut++
						podPart, entryPart := cutParts(got, pod, entry)
						if podPart == 0 || entryPart == 0 {
							t.Fatalf("D-9: GenerateName(%q, %q) = %q does not start both names", pod, entry, got)
						}
					}
					valid := isName(rule + "x4z9k")
					keepsBoth := !strings.HasPrefix(rule, "-") && !(strings.HasSuffix(rule, "-") && len(entry)*57/(len(pod)+len(entry)+2) == 0)
					if valid && keepsBoth {
						if got != rule {
							t.Fatalf("GenerateName(%q, %q) = %q, want upstream's %q, which is valid", pod, entry, got, rule)
						}
					} else {
						differs++
						if got == rule {
							t.Fatalf("D-9: GenerateName(%q, %q) = %q is upstream's, which is not good", pod, entry, got)
						}
					}
				}
			}
		}
	}
	require.NotZero(t, cut)
	require.NotZero(t, differs)
}

// cutParts is how much of each name a generateName starts with and ends in.
func cutParts(got, pod, entry string) (podPart, entryPart int) {
	for i := 1; i < len(got); i++ {
		if got[i] == '-' && strings.HasPrefix(pod, got[:i]) && strings.HasPrefix(entry, got[i+1:]) && i+1 < len(got) {
			return i, len(got) - i - 1
		}
	}
	return 0, 0
}

func TestD9_GenerateNameWhereUpstreamsIsBad(t *testing.T) {
	for _, tc := range []struct{ name, reason, pod, entry, upstream, want string }{
		// 54 + 8 + 2 = 64 characters, so that 54·57/64 = 48 and 8·57/64 = 7 are left.
		{"cut behind a dot", "a label cannot begin with a dash", strings.Repeat("a", 47) + "." + strings.Repeat("b", 6), strings.Repeat("e", 8),
			strings.Repeat("a", 47) + ".-eeeeeee", strings.Repeat("a", 47) + "-eeeeeee"},
		{"nothing left of the pod", "a name cannot begin with a dash", "p", strings.Repeat("e", 57),
			"-" + strings.Repeat("e", 54), "p-" + strings.Repeat("e", 54)},
		{"nothing left of the entry", "the entry tells the claims of a pod apart", strings.Repeat("p", 253), "e",
			strings.Repeat("p", 56) + "-", strings.Repeat("p", 55) + "-e"},
		{"nothing left of a longer entry", "one character of it is enough", strings.Repeat("p", 253), "ef",
			strings.Repeat("p", 56) + "-", strings.Repeat("p", 55) + "-e"},
		// The API does not allow such an entry.
		{"nothing left of a longer pod", "one character of it is enough, and the whole has 57", "pq", strings.Repeat("e", 1000),
			"-" + strings.Repeat("e", 56), "p-" + strings.Repeat("e", 55)},
	} {
		t.Run("D-9 "+tc.name, func(t *testing.T) {
			rule := proportional(tc.pod, tc.entry)
			require.Equal(t, rule, modes[1].options.generateName(tc.pod, tc.entry), "MatchUpstream follows the rule")
			require.Equal(t, tc.upstream, rule)
			require.Equal(t, tc.want, GenerateName(tc.pod, tc.entry), tc.reason)
		})
	}
}

func TestGenerateNameTakesAnything(t *testing.T) {
	for _, pod := range []string{"", ".", strings.Repeat(".", 300), strings.Repeat("ü", 100)} {
		for _, entry := range []string{"", "-", strings.Repeat("-", 300)} {
			require.NotPanics(t, func() { GenerateName(pod, entry); modes[1].options.generateName(pod, entry) })
		}
	}
}
