package resourceclaim

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A scenario is a text file under testdata: what users, scheduler and garbage collector do, one command a
// line, then "----", then the calls that the caller makes on account of it or, where "state" asks for
// it, what the API server has in the end. "crash-after-write 2" has the caller lose, after the second
// write from then on, what is only in memory. "#" begins a comment.
type scenario struct {
	name  string
	steps []scenarioStep
}

type scenarioStep struct{ commands, want []string }

func scenarios(t *testing.T) []scenario {
	t.Helper()
	files, err := filepath.Glob("testdata/podgroups/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var out []scenario
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		s := scenario{name: strings.TrimSuffix(filepath.Base(file), ".txt")}
		for block := range strings.SplitSeq(strings.TrimSpace(string(content)), "\n\n") {
			var step scenarioStep
			answers := false
			for line := range strings.Lines(block) {
				switch line = strings.TrimSpace(line); {
				case strings.HasPrefix(line, "#"):
				case line == "----":
					answers = true
				case answers:
					step.want = append(step.want, line)
				default:
					step.commands = append(step.commands, line)
				}
			}
			if len(step.commands) > 0 {
				s.steps = append(s.steps, step)
			}
		}
		out = append(out, s)
	}
	return out
}

// command does what one line says. It reports whether the state is asked for.
func (w *world) command(t *testing.T, line string) (state bool) {
	t.Helper()
	fields := strings.Fields(line)
	verb, rest := fields[0], fields[1:]
	for _, name := range rest {
		switch verb {
		case "group":
			w.createGroup(name)
		case "pod":
			w.createPod(name)
		case "schedule":
			require.True(t, w.schedule(name), "%s: nothing to do", line)
			for w.schedule(name) {
			}
		case "bind":
			w.bind(name)
		case "finish":
			w.finish(name)
		case "delete-pod":
			w.deletePod(name)
		case "delete-group":
			w.deleteGroup(name)
		case "delete-claims-of":
			for _, claim := range w.claimNames() {
				if group, _, ok := owningPodGroup(w.server.claims[claim]); ok && group == name {
					w.deleteClaim(claim)
				}
			}
		default:
			t.Fatalf("unknown command: %s", line)
		}
	}
	switch {
	case verb == "collect":
		for w.collect() {
		}
	case verb != "state" && len(rest) == 0:
		t.Fatalf("unknown command: %s", line)
	}
	return verb == "state"
}

// playScenario plays it, and returns for each step what the caller did and what state was asked for.
func playScenario(t *testing.T, s scenario, crashAfter, podsLag, claimsLag, groupsLag int, byEvents bool) (got [][]string, writes int) {
	t.Helper()
	server := newAPIServer()
	w := &world{server: server}
	c := newCaller(server, grouped)
	c.crashAfter, c.groupsLag = crashAfter, groupsLag
	c.fresh = podsLag+claimsLag+groupsLag == 0 && !byEvents
	if byEvents {
		c.relist()
	}
	for _, step := range s.steps {
		state := false
		for _, line := range step.commands {
			if n, ok := strings.CutPrefix(line, "crash-after-write "); ok {
				var err error
				c.crashAfter, err = strconv.Atoi(n)
				require.NoError(t, err)
				continue
			}
			state = w.command(t, line) || state
		}
		server.calls = nil
		c.watch(max(c.podsAt, server.latest()-podsLag), max(c.claimsAt, server.latest()-claimsLag))
		require.True(t, c.settle(), "%s: it comes to rest", step.commands)
		lines := slices.Clone(server.calls)
		if state {
			lines = groupState(server)
		}
		got = append(got, lines)
	}
	require.Empty(t, server.violations)
	return got, server.writes
}

// groupState is what the server has, one object a line.
func groupState(s *apiServer) []string {
	var out []string
	st := s.states[s.latest()]
	for _, g := range st.groups {
		var names []string
		for _, status := range g.ResourceClaimStatuses {
			names = append(names, status.Name+"="+*status.ResourceClaimName)
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("group %s: %s", g.Name, strings.Join(names, " "))))
	}
	for _, p := range st.pods {
		var names []string
		for _, status := range p.Status.ResourceClaimStatuses {
			names = append(names, status.Name+"="+*status.ResourceClaimName)
		}
		slices.Sort(names)
		out = append(out, strings.TrimSpace(fmt.Sprintf("pod %s: %s", p.Name, strings.Join(names, " "))))
	}
	for _, c := range st.claims {
		var consumers []string
		for _, ref := range c.Status.ReservedFor {
			consumers = append(consumers, ref.Resource+"/"+ref.Name)
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("claim %s allocated=%t: %s", c.Name, c.Status.Allocation != nil, strings.Join(consumers, " "))))
	}
	return out
}

// TestScenarios holds the caller with caches that are up to date to what the files say.
func TestScenarios(t *testing.T) {
	for _, s := range scenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			got, _ := playScenario(t, s, 0, 0, 0, 0, false)
			for i, step := range s.steps {
				require.Equal(t, strings.Join(step.want, "\n"), strings.Join(got[i], "\n"), "after %q", step.commands)
			}
		})
	}
}

// TestScenariosWithCrashesAndStaleCaches: wherever the caller crashes and however far its caches are
// behind, each on its own, the states that the files ask for are the same but for the numbers in
// generated names.
func TestScenariosWithCrashesAndStaleCaches(t *testing.T) {
	for _, s := range scenarios(t) {
		want, writes := playScenario(t, s, 0, 0, 0, 0, false)
		for crashAfter := 0; crashAfter <= writes; crashAfter++ {
			for _, lag := range []struct{ pods, claims, groups int }{{0, 0, 0}, {2, 0, 0}, {0, 3, 0}, {0, 0, 2}, {3, 1, 4}, {50, 50, 50}} {
				for _, byEvents := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, write %d, behind by %v, events %t", s.name, crashAfter, lag, byEvents), func(t *testing.T) {
						got, _ := playScenario(t, s, crashAfter, lag.pods, lag.claims, lag.groups, byEvents)
						for i, step := range s.steps {
							if slices.Contains(step.commands, "state") {
								require.Equal(t, unnumbered(want[i]), unnumbered(got[i]), "after %q", step.commands)
							}
						}
					})
				}
			}
		}
	}
}

var generatedEnd = regexp.MustCompile(`-\d{5}`)

// unnumbered are the lines without the generated ends of names, sorted.
func unnumbered(lines []string) []string {
	var out []string
	for _, line := range lines {
		out = append(out, generatedEnd.ReplaceAllString(line, "-*"))
	}
	slices.Sort(out)
	return out
}
