// Plan reads Kubernetes manifests as `kubectl get … -o yaml` or `-o json` prints them and
// says, per controller and object, what that controller of kube-controller-manager would do,
// and why. It talks to no cluster and changes nothing.
//
//	plan [flags] [FILE | DIRECTORY | - …]
//
// Without an argument it plans a small cluster that is embedded in it.
//
// The exit status says what came of it; see exit.go.
package main

import (
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/manifests"
)

func main() {
	// A dump of a large cluster is memory first of all. This takes a sixth off the most that is in use, for some more time.
	debug.SetGCPercent(75)
	os.Exit(run(os.Args[1:], system{
		stdin:   os.Stdin,
		stdout:  os.Stdout,
		stderr:  os.Stderr,
		now:     time.Now,
		colour:  wantsColour(os.Stdout, os.LookupEnv),
		watched: isTerminal(os.Stderr),
	}))
}

// system is what the program takes from the machine that it runs on.
type system struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	// files is nil for those of the machine.
	files  fs.FS
	now    func() time.Time
	colour bool
	// watched: stderr is a terminal.
	watched bool
}

// settings are the flags that a core may want to know.
type settings struct {
	now           time.Time
	matchUpstream purekube.Upstream
	explain       bool
	// assumeComplete: pods that the input lacks do not exist.
	assumeComplete bool
	failOn         []string
	// passEmptyBudgets: a budget without pods is no reason to fail.
	passEmptyBudgets bool
	// ttlStep is nil when the step is to be recovered from the nodes.
	ttlStep *int
}

// releases are the values of -match-upstream.
var releases = []string{string(purekube.V1_36), string(purekube.V1_37)}

// run is the program without its process.
func run(args []string, sys system) int {
	inv, err := parse(args, sys)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitPlanned
	case err != nil:
		sys.say(err)
		return exitInput
	}

	objects := inv.load(sys)

	if inv.drain.node != "" {
		return inv.runDrain(objects, sys)
	}
	planned := objects.somethingFor(inv.cores)
	rep := newReport(inv.now, objects)
	if planned && slices.Contains(inv.failOn, failOnNever) {
		rep.refuse(objects, neverQuestion)
	}
	for _, c := range inv.cores {
		if !planned {
			break // a heading with nothing under it says nothing
		}
		if q := c.questionOf(objects, inv.settings); q != nil && rep.refuse(objects, *q) {
			continue
		}
		section := c.plan(objects, inv.settings)
		section.Core, section.NoObjects = c.name, !objects.has(c.reads)
		rep.add(section, objects)
		rep.note(c, section, objects)
	}
	var drains *drainTable
	if inv.output == outputHTML && rep.has("disruption") && len(objects.Pods) > 0 && !rep.refuse(objects, drainQuestion("drains", objects)) {
		drains = newDrainTable(objects, inv)
	}
	for _, p := range rep.problems {
		sys.say(p)
	}
	if slices.Contains(inv.failOn, failOnNever) {
		rep.sayUndecided(sys)
	}

	out := &visibleWriter{w: sys.stdout}
	switch inv.output {
	case outputJSON:
		err = rep.writeJSON(out)
	case outputRequests:
		err = rep.writeRequests(out)
	case outputHTML:
		err = rep.writeHTML(out, objects, inv, drains)
	case outputMermaid:
		err = rep.writeMermaid(out, objects, inv)
	default:
		err = rep.writeText(sys.stdout, palette(sys.colour))
	}
	if err != nil {
		sys.say(err)
		return exitInput
	}
	return rep.status(inv.settings)
}

//go:embed cluster
var embedded embed.FS

// load reads the paths, or the embedded cluster.
func (inv invocation) load(sys system) *cluster {
	var p *progress
	if sys.watched {
		p = &progress{w: sys.stderr, clock: sys.now}
	}
	defer p.done()
	o := manifests.Options{
		Stdin: sys.stdin, Files: sys.files, None: kindsNamed(inv.none), MaxUnzipped: inv.maxUnzipped << 20, Progress: p.count,
	}
	if len(inv.paths) == 0 {
		o.Files = embedded
		return load(o, "cluster")
	}
	return load(o, inv.paths...)
}

// say prints a line about what is wrong.
func (sys system) say(what any) {
	fmt.Fprintf(sys.stderr, "plan: %s\n", visible(fmt.Sprint(what)))
}

// The values of -o.
const (
	outputText     = "text"
	outputJSON     = "json"
	outputRequests = "requests"
	outputHTML     = "html"
	outputMermaid  = "mermaid"
)

// invocation is the command line, checked.
type invocation struct {
	settings
	paths  []string
	cores  []core
	output string
	drain  drainRequest
	// none are the kinds of which the cluster has no more than the input.
	none []string
	// maxUnzipped is in MiB.
	maxUnzipped int64
}

func parse(args []string, sys system) (invocation, error) {
	inv := invocation{}
	var names []string
	flags := flag.NewFlagSet("plan", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&inv.output, "o", outputText, "output `format`: text, json (described in FORMAT.md), requests (the calls to the API server, one JSON object a line), html (one page with pictures) or mermaid (the graphs, for Markdown)")
	now := flags.String("now", "", "the `time` to plan for, RFC 3339 (default: the clock)")
	flags.Func("match-upstream", "plan the requests that kube-controller-manager of this `release` would send, its defects included: "+strings.Join(releases, ", "),
		func(release string) error {
			if !slices.Contains(releases, release) {
				return fmt.Errorf("there is %s", strings.Join(releases, ", "))
			}
			inv.matchUpstream = purekube.Upstream(release)
			return nil
		})
	flags.Func("core", "plan only this `core`; may be given again: "+strings.Join(coreNames(), ", "), func(name string) error {
		names = append(names, name)
		return nil
	})
	flags.Func("ttl-step", "the `step` that the ttl controller is at (default: recovered from the nodes)", func(s string) error {
		step, err := ttlStep(s)
		inv.ttlStep = &step
		return err
	})
	flags.BoolVar(&inv.explain, "explain", false, "say why, for every object, also where there is nothing to do")
	flags.BoolVar(&inv.assumeComplete, "assume-complete", false,
		"the input has all pods: one that it lacks does not exist and is not to be looked up")
	inv.failOn = []string{failOnError}
	flags.Func("fail-on", "what the exit status tells besides wrong input, a `list` of "+strings.Join(failOns, ", ")+" (default error)", func(list string) (err error) {
		inv.failOn, err = parseFailOn(list)
		return err
	})
	flags.BoolVar(&inv.passEmptyBudgets, "ignore-budgets-without-pods", false,
		"with -fail-on never: do not fail for a PodDisruptionBudget that covers no pod of the input")
	flags.Func("none", "the cluster has no more objects of these `kinds` than the input, a list as kubectl get takes it: pdb,rc", func(list string) (err error) {
		inv.none, err = parseKinds(list)
		return err
	})
	flags.Int64Var(&inv.maxUnzipped, "max-unzipped", manifests.DefaultMaxUnzipped>>20, "how many `MiB` a gzip file may hold")
	inv.drain.register(flags)
	detailed := flags.Bool("detailed-exitcode", false, "the same as -fail-on error,action")

	// Flags may stand behind the files, as kubectl allows.
	for rest := args; ; rest = flags.Args()[1:] {
		if err := flags.Parse(rest); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				usage(sys.stdout, flags)
				return inv, err
			}
			return inv, fmt.Errorf("%w (-h lists the flags)", err)
		}
		if flags.NArg() == 0 {
			break
		}
		inv.paths = append(inv.paths, flags.Arg(0))
	}

	if *detailed {
		inv.failOn = append(inv.failOn, failOnAction)
	}
	switch inv.output {
	case outputText, outputJSON, outputRequests, outputMermaid:
	case outputHTML:
		inv.explain = true
	default:
		return inv, fmt.Errorf("-o %q: text, json, requests, html or mermaid", inv.output)
	}
	if err := inv.drain.check(inv.output); err != nil {
		return inv, err
	}
	inv.now = sys.now()
	if *now != "" {
		at, err := time.Parse(time.RFC3339, *now)
		if err != nil {
			return inv, fmt.Errorf("-now %q: not a time as RFC 3339 writes it, such as 2026-11-21T01:11:07Z", *now)
		}
		inv.now = at
	}
	var err error
	if inv.cores, err = selectCores(names); err != nil {
		return inv, err
	}
	return inv, inv.checkFailOn()
}

// checkFailOn says what is wrong with -fail-on and the flags around it.
func (inv invocation) checkFailOn() error {
	never := slices.Contains(inv.failOn, failOnNever)
	judged := inv.drain.node != "" || slices.ContainsFunc(inv.cores, func(c core) bool { return c.name == "disruption" })
	switch {
	case never && !judged:
		return fmt.Errorf("-fail-on never is for -drain and the core disruption")
	case inv.passEmptyBudgets && !never:
		return fmt.Errorf("-ignore-budgets-without-pods is for -fail-on never")
	case inv.maxUnzipped < 1 || inv.maxUnzipped > math.MaxInt64>>20:
		return fmt.Errorf("-max-unzipped %d: must be a number of MiB, 1 or more", inv.maxUnzipped)
	}
	return nil
}

func usage(w io.Writer, flags *flag.FlagSet) {
	fmt.Fprint(w, `plan says what five controllers of kube-controller-manager would do with the objects in
manifests, and why. It talks to no cluster and changes nothing.

usage: plan [flags] [FILE | DIRECTORY | - …]

Without an argument it plans a small cluster that is embedded in it.

`)
	flags.SetOutput(w)
	flags.PrintDefaults()
	fmt.Fprint(w, exitStatusHelp)
	fmt.Fprint(w, `
A large dump is read about twice as fast as JSON (kubectl get … -o json); files may be compressed with gzip.
`)
}
