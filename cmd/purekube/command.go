package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/lint"
	"github.com/purekube/purekube/manifests"
)

// command is what the first argument names.
type command struct {
	name, summary string
	// about is the argument before the paths. Empty: there is none.
	about string
	// outputs are the values of -o, the default first.
	outputs []string
	// register adds the flags that other commands do not have.
	register func(*invocation, *flag.FlagSet)
	run      func(invocation, system) int
}

// commands are in the order of the help text. A further one is a line here and a file of its own.
func commands() []command {
	return []command{
		{"plan", "what the controllers would do now, and why", "", []string{outputText, outputJSON, outputRequests}, registerPlan, runPlan},
		{"explain", "everything that is known about one object, such as PodDisruptionBudget/shop/web", "KIND/NAME", []string{outputText, outputJSON}, registerExplain, runExplain},
		{"drain", "how kubectl drain of nodes would go: each alone, together, or in the waves of an upgrade", "NODE… | all", []string{outputText, outputJSON}, registerDrain, runDrain},
		{"lint", "what is wrong with manifests, for CI: budgets that block drains, ClusterRoles that grant too much", "",
			[]string{outputText, outputJSON, outputSARIF, outputGitHub}, registerLint, runLint},
		{"report", "one HTML page with the plan, the budgets and the drains, or graphs for Markdown", "", []string{outputHTML, outputMermaid}, registerReport, runReport},
		{"diff", "where kube-controller-manager would do something else", "", []string{outputText, outputJSON}, registerDiff, runDiff},
		{"version", "the version, and the releases of Kubernetes that it knows", "", nil, nil, runVersion},
	}
}

// The values of -o.
const (
	outputText     = "text"
	outputJSON     = "json"
	outputRequests = "requests"
	outputHTML     = "html"
	outputMermaid  = "mermaid"
	outputSARIF    = "sarif"
	outputGitHub   = "github"
)

// invocation is the command line, checked.
type invocation struct {
	settings
	command command
	// about is the argument before the paths.
	about string
	paths []string
	// demo: the input is the embedded cluster.
	demo   bool
	cores  []core
	output string
	drain  drainRequest
	// lintFailOn is the mildest severity that is a failure. Empty: none is.
	lintFailOn lint.Severity
	// none are the kinds of which the cluster has no more than the input.
	none []string
	// maxUnzipped is in MiB.
	maxUnzipped int64
	// fullHealth adds the pods of the workloads, on so many nodes more. builtinRoles adds admin, edit and view.
	fullHealth   bool
	nodes        int
	builtinRoles bool

	names []string // of -core
	at    string   // of -now
}

// parse reads the command line. Without arguments it plans the embedded cluster. Any argument says that somebody asks about
// objects of their own: where none are named or piped, as for lint $FILES with an empty variable, that is an error.
func parse(args []string, sys system) (invocation, error) {
	if len(args) == 0 {
		args = []string{"plan", "-demo"}
		if sys.piped {
			args = []string{"plan", "-"}
		}
	}
	if args[0] == "-h" || args[0] == "-help" || args[0] == "--help" || args[0] == "help" {
		usage(sys.stdout)
		return invocation{}, flag.ErrHelp
	}
	inv := invocation{}
	for _, c := range commands() {
		if c.name == args[0] {
			inv.command = c
		}
	}
	if inv.command.name == "" {
		return inv, fmt.Errorf("%q is not a command: %s (-h says what they do)", args[0], strings.Join(commandNames(), ", "))
	}
	flags := inv.flags()
	// Flags may follow the files, as kubectl allows.
	for rest := args[1:]; ; rest = flags.Args()[1:] {
		if err := flags.Parse(rest); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				inv.command.usage(sys.stdout, flags)
				return inv, err
			}
			return inv, fmt.Errorf("%w (purekube %s -h lists the flags)", err, inv.command.name)
		}
		if flags.NArg() == 0 {
			break
		}
		if flags.Arg(0) == "" {
			return inv, fmt.Errorf("an argument of %s is empty, such as a shell variable without a value", inv.command.name)
		}
		if inv.command.about != "" && inv.about == "" {
			inv.about = flags.Arg(0)
			continue
		}
		inv.paths = append(inv.paths, flags.Arg(0))
	}
	return inv, inv.check(sys)
}

func commandNames() []string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

// flags are the flags of the command.
func (inv *invocation) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("purekube "+inv.command.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	inv.failOn = []string{failOnError}
	if len(inv.command.outputs) == 0 {
		return flags
	}
	flags.StringVar(&inv.output, "o", inv.command.outputs[0], "output `format`: "+strings.Join(inv.command.outputs, ", ")+" (FORMAT.md describes those for programs)")
	flags.BoolVar(&inv.demo, "demo", false, "answer for the small cluster that is embedded in purekube")
	flags.Int64Var(&inv.maxUnzipped, "max-unzipped", manifests.DefaultMaxUnzipped>>20, "how many `MiB` a gzip file may hold")
	if inv.command.name != "lint" { // it judges manifests as they are, at full health and with the ClusterRoles of every cluster
		registerSnapshot(inv, flags)
	}
	inv.command.register(inv, flags)
	return flags
}

// registerSnapshot adds the flags that say how the input becomes what a cluster has.
func registerSnapshot(inv *invocation, flags *flag.FlagSet) {
	flags.StringVar(&inv.at, "now", "", "the `time` to plan for, RFC 3339 (default: the newest time that an API server put into the input, or else the clock)")
	flags.Func("none", "the cluster has no more objects of these `kinds` than the input, a list as kubectl get takes it: pdb,rc", func(list string) (err error) {
		inv.none, err = parseKinds(list)
		return err
	})
	flags.BoolVar(&inv.fullHealth, "at-full-health", false, "add the pods that the workloads have when all is well: for manifests, which have no pods")
	flags.IntVar(&inv.nodes, "nodes", 0, "with -at-full-health: add this `number` of nodes for the pods")
	flags.BoolVar(&inv.builtinRoles, "builtin-roles", false, "add the ClusterRoles admin, edit and view, and what they aggregate in every cluster")
}

// registerCores adds the flags of commands that plan.
func registerCores(inv *invocation, flags *flag.FlagSet) {
	registerUpstream(inv, flags, "match-upstream", "plan the requests that kube-controller-manager of this `release` would send, its defects included: ")
	flags.Func("core", "plan only this `core`; may be given again: "+strings.Join(coreNames(), ", "), func(name string) error {
		inv.names = append(inv.names, name)
		return nil
	})
	registerState(inv, flags)
}

func registerUpstream(inv *invocation, flags *flag.FlagSet, name, text string) {
	flags.Func(name, text+strings.Join(releases, ", "), func(release string) error {
		upstream, err := purekube.ParseUpstream(release)
		inv.matchUpstream = upstream
		return err
	})
}

// registerState adds the flags about what manifests do not say.
func registerState(inv *invocation, flags *flag.FlagSet) {
	flags.Func("ttl-step", "the `step` that the ttl controller is at (default: recovered from the nodes)", func(s string) error {
		step, err := ttlStep(s)
		inv.ttlStep = &step
		return err
	})
	flags.BoolVar(&inv.assumeComplete, "assume-complete", false,
		"the input has all pods: one that it lacks does not exist and is not to be looked up")
}

func registerFailOn(inv *invocation, flags *flag.FlagSet, known []string) {
	flags.Func("fail-on", "what the exit status tells besides wrong input, a `list` of "+strings.Join(known, ", ")+" (default error)", func(list string) (err error) {
		inv.failOn, err = parseFailOn(list, known)
		return err
	})
}

// check says what is wrong with the arguments together, and completes them.
func (inv *invocation) check(sys system) (err error) {
	inv.now, inv.nowFrom = sys.now(), nowFromClock
	if inv.at != "" {
		inv.nowFrom = nowFromFlag
		if inv.now, err = time.Parse(time.RFC3339, inv.at); err != nil {
			return fmt.Errorf("-now %q: not a time as RFC 3339 writes it, such as 2026-11-21T01:11:07Z", inv.at)
		}
	}
	if inv.cores, err = selectCores(inv.names); err != nil {
		return err
	}
	if inv.command.name == "drain" {
		if err := inv.takeNodes(sys); err != nil {
			return err
		}
	}
	if inv.command.name == "report" {
		if err := inv.drain.checkReport(inv.output); err != nil {
			return err
		}
	}
	never := slices.Contains(inv.failOn, failOnNever)
	judged := inv.command.name == "drain" || slices.ContainsFunc(inv.cores, func(c core) bool { return c.name == "disruption" })
	switch {
	case len(inv.command.outputs) == 0:
		return nil
	case !slices.Contains(inv.command.outputs, inv.output):
		return fmt.Errorf("-o %q: %s prints %s", inv.output, inv.command.name, strings.Join(inv.command.outputs, ", "))
	case inv.command.about != "" && inv.about == "" && inv.command.name != "drain":
		return fmt.Errorf("%s needs %s", inv.command.name, inv.command.about)
	case never && !judged:
		return fmt.Errorf("-fail-on never is for drain and the core disruption")
	case inv.passEmptyBudgets && !never:
		return fmt.Errorf("-ignore-budgets-without-pods is for -fail-on never")
	case inv.maxUnzipped < 1 || inv.maxUnzipped > math.MaxInt64>>20:
		return fmt.Errorf("-max-unzipped %d: must be a number of MiB, 1 or more", inv.maxUnzipped)
	case inv.nodes < 0 || inv.nodes > manifests.MaxNodes:
		return fmt.Errorf("-nodes %d: must be a number from 0 to %d", inv.nodes, manifests.MaxNodes)
	case inv.nodes > 0 && !inv.fullHealth:
		return fmt.Errorf("-nodes is for -at-full-health")
	case inv.demo && len(inv.paths) > 0:
		return fmt.Errorf("-demo is the embedded cluster, and %s is not in it: only one of them", inv.paths[0])
	case !inv.demo && len(inv.paths) == 0 && !sys.piped:
		return fmt.Errorf("%s has nothing to read: name files or directories, or pipe kubectl get into it (-demo is the cluster embedded in purekube)",
			inv.command.name)
	}
	return nil
}

func usage(w io.Writer) {
	fmt.Fprint(w, `purekube says what five controllers of kube-controller-manager would do with the objects in manifests, whether nodes
drain, and why. It talks to no cluster and changes nothing.

usage: purekube COMMAND [flags] [FILE | DIRECTORY | - …]

`)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, `
Without files it reads what is piped into it. Without arguments it plans a small cluster that is embedded in it; -demo is
that cluster for every command. purekube COMMAND -h lists the flags.
`, exitStatusHelp, `
A large dump is read about twice as fast as JSON (kubectl get … -o json); files may be compressed with gzip.
`)
}

func (c command) usage(w io.Writer, flags *flag.FlagSet) {
	args := "[FILE | DIRECTORY | - …]"
	if c.about != "" {
		args = c.about + " " + args
	}
	fmt.Fprintf(w, "%s: %s.\n\nusage: purekube %s [flags] %s\n\n", c.name, c.summary, c.name, args)
	flags.SetOutput(w)
	flags.PrintDefaults()
}
