package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/manifests/lint"
)

// command is what the first argument names.
type command struct {
	name, summary string
	// arguments are the positional arguments, as the help text writes them.
	arguments string
	// example are command lines.
	example []string
	// outputs are the values of -o, the default first.
	outputs []string
	// register adds the flags that other commands do not have.
	register func(*invocation, *pflag.FlagSet)
	run      func(invocation, system) int
}

// commands are the commands. A further one is an entry here and a file of its own.
func commands() []command {
	return []command{
		{name: "plan", arguments: filesArgument, summary: "what the controllers would do now, and why",
			example: []string{
				"purekube plan --core disruption --explain",
				"kubectl get clusterroles,nodes -o json | purekube plan --explain",
				"helm template my-chart | purekube plan --core disruption --at-full-health --nodes 3 --fail-on never",
			},
			outputs: []string{outputText, outputJSON, outputYAML, outputRequests}, register: registerPlan, run: runPlan},
		{name: "explain", arguments: "KIND/[NAMESPACE/]NAME " + filesArgument,
			summary: "everything that is known about one object",
			example: []string{"purekube explain pdb/shop/web", "purekube explain pod/shop/web-0 --context staging"},
			outputs: []string{outputText, outputJSON, outputYAML}, register: registerExplain, run: runExplain},
		{name: "drain", arguments: "[NODE | all]…",
			summary: "how kubectl drain of nodes would go: each alone, together, or in the waves of an upgrade",
			example: []string{
				"purekube drain worker-1 --ignore-daemonsets --delete-emptydir-data",
				"purekube drain -l pool=a --together -f dump.json",
				"purekube drain --waves --max 20 --by topology.kubernetes.io/zone -f dump.json",
			},
			outputs: []string{outputText, outputWide, outputJSON, outputYAML}, register: registerDrain, run: runDrain},
		{name: "lint", arguments: filesArgument,
			summary: "what is wrong with manifests, for CI: budgets that block drains, ClusterRoles that grant too much",
			example: []string{"helm template my-chart | purekube lint", "purekube lint -o sarif manifests/"},
			outputs: []string{outputText, outputJSON, outputYAML, outputSARIF, outputGitHub}, register: registerLint,
			run: runLint},
		{name: "report", arguments: filesArgument,
			summary: "one HTML page with the plan, the budgets and the drains, or graphs for Markdown",
			example: []string{"purekube report --ignore-daemonsets --output-file report.html"},
			outputs: []string{outputHTML, outputMermaid}, register: registerReport, run: runReport},
		{name: "diff", arguments: filesArgument, summary: "where kube-controller-manager would do something else",
			example: []string{"purekube diff --upstream v1.36 -f dump.json"},
			outputs: []string{outputText, outputJSON, outputYAML}, register: registerDiff, run: runDiff},
		{name: "version", summary: "the version, and the releases of Kubernetes that it knows", run: runVersion},
	}
}

const filesArgument = "[FILE | DIRECTORY | -]…"

// The values of -o.
const (
	outputText     = "text"
	outputWide     = "wide"
	outputJSON     = "json"
	outputYAML     = "yaml"
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
	// about is the object that explain is about.
	about string
	paths []string
	// outputFile is where the output goes. Empty: to standard output.
	outputFile string
	// demo: the input is the embedded cluster. live: the input is the cluster that kube names. watch: and as it changes.
	demo  bool
	live  bool
	watch bool
	kube  *genericclioptions.ConfigFlags
	// followed has the lists of a cluster that is watched. Nil: they are read.
	followed *follower
	cores    []core
	output   string
	drain    drainRequest
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

	names            []string // of --core
	at               string   // of --now
	detailedExitCode bool
}

// parse reads the command line. It returns nil where cobra has answered already: help, and completions for a shell.
// Without arguments the embedded cluster is planned. Any argument says that somebody asks about objects of their own:
// where none are named or piped, as for lint $FILES with an empty variable, that is an error.
func parse(args []string, sys system) (*invocation, error) {
	if len(args) == 0 {
		args = []string{"plan"}
		if !sys.piped {
			args = append(args, "--demo")
		}
	}
	var asked *invocation
	root := &cobra.Command{
		Use: "purekube", Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: sys.displayName()},
		Short: "what five controllers of kube-controller-manager would do, whether nodes drain, and why",
		Long:  aboutPurekube + exitStatusHelp, SilenceErrors: true, SilenceUsage: true,
	}
	root.SetOut(sys.stdout)
	root.SetErr(sys.stderr)
	for _, c := range commands() {
		root.AddCommand(c.cobra(sys, func(inv *invocation) { asked = inv }))
	}
	if err := oneDash(root, args); err != nil {
		return nil, err
	}
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		return nil, errors.New(strings.Join(strings.Fields(err.Error()), " ")) // cobra's suggestions are lines of their own
	}
	return asked, nil
}

// oneDash says that a flag of more than one letter has two dashes. Its letters would be taken for flags of one letter
// and their values: -force for the file orce.
func oneDash(root *cobra.Command, args []string) error {
	cmd, _, err := root.Find(args)
	if err != nil {
		return nil //nolint:nilerr // cobra says so when it executes the command
	}
	for _, arg := range args {
		if arg == "--" {
			return nil
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && len(name) > 1 && (cmd.Flags().Lookup(name) != nil || name == "help") {
			return fmt.Errorf("-%s: flags have two dashes: --%s", name, name)
		}
	}
	return nil
}

// cobra is the command with its flags. then gets the command line, checked.
func (c command) cobra(sys system, then func(*invocation)) *cobra.Command {
	inv := &invocation{command: c}
	cmd := &cobra.Command{
		Use: strings.TrimSpace(c.name + " " + c.arguments), Short: c.summary, Example: c.examples(sys.displayName()),
		RunE: func(cmd *cobra.Command, args []string) error {
			then(inv)
			return inv.take(cmd.Flags(), args, sys)
		},
		ValidArgsFunction: func(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return inv.complete(sys)
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w (%s --help lists the flags)", err, cmd.CommandPath())
	})
	inv.register(cmd.Flags())
	for flag, values := range map[string][]string{
		"output": c.outputs, "core": coreNames(), "match-upstream": releases, "upstream": releases,
	} {
		// The error is that the command has no such flag.
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

// examples are the examples of the help text, a line each.
func (c command) examples(program string) string {
	var lines []string
	for _, e := range c.example {
		lines = append(lines, "  "+strings.ReplaceAll(e, "purekube ", program+" "))
	}
	return strings.Join(lines, "\n")
}

// register adds the flags of the command.
func (inv *invocation) register(flags *pflag.FlagSet) {
	inv.failOn = []string{failOnError}
	if len(inv.command.outputs) == 0 {
		return
	}
	flags.StringVarP(&inv.output, "output", "o", inv.command.outputs[0],
		"output `format`: "+strings.Join(inv.command.outputs, ", ")+" (FORMAT.md describes those for programs)")
	flags.StringVar(&inv.outputFile, "output-file", "", "write the output to this `file`, and not to standard output")
	flags.StringArrayVarP(&inv.paths, "filename", "f", nil,
		"`file` or directory to read, or - for standard input; may be given again (default: what is piped, or else the "+
			"current cluster)")
	inv.liveFlags(flags)
	flags.BoolVar(&inv.demo, "demo", false, "answer for the small cluster that is embedded in purekube")
	flags.Int64Var(&inv.maxUnzipped, "max-unzipped", manifests.DefaultMaxUnzipped>>20,
		"how many `MiB` a gzip file may hold")
	// it judges manifests as they are, at full health and with the ClusterRoles of every cluster
	if inv.command.name != "lint" {
		registerSnapshot(inv, flags)
	}
	inv.command.register(inv, flags)
}

// take takes the positional arguments, and checks them and the flags together.
func (inv *invocation) take(flags *pflag.FlagSet, args []string, sys system) error {
	empty := ""
	if slices.Contains(slices.Concat(args, inv.paths), "") {
		empty = "an argument"
	}
	flags.Visit(func(f *pflag.Flag) { // each flag that is set
		if f.Value.Type() == "string" && f.Value.String() == "" {
			empty = "--" + f.Name
		}
	})
	if empty != "" {
		return fmt.Errorf("%s of %s is empty, such as a shell variable without a value", empty, inv.command.name)
	}
	switch {
	case inv.command.name == "drain":
		inv.drain.nodes = args
	case inv.command.name == "explain" && len(args) > 0:
		inv.about, inv.paths = args[0], slices.Concat(inv.paths, args[1:])
	default:
		inv.paths = slices.Concat(inv.paths, args)
	}
	return inv.check(sys)
}

// forPeople reports whether the output is text.
func (inv *invocation) forPeople() bool { return inv.output == outputText || inv.output == outputWide }

// answer runs the command.
func (inv *invocation) answer(sys system) (status int) {
	if inv.watch {
		return inv.follow(sys)
	}
	stdout := sys.stdout
	var out bytes.Buffer
	if inv.outputFile != "" || inv.output == outputYAML {
		sys.stdout = &out
	}
	asked := *inv
	if inv.output == outputYAML {
		asked.output = outputJSON
	}
	status = inv.command.run(asked, sys)
	text := out.Bytes()
	if inv.output == outputYAML && len(text) > 0 { // nothing, as YAML, is null
		var asYAML bytes.Buffer
		if err := writeYAML(&asYAML, text); err != nil {
			sys.say(err)
			return exitInput
		}
		text = asYAML.Bytes()
	}
	var err error
	switch {
	case inv.outputFile != "":
		err = os.WriteFile(inv.outputFile, text, 0o644) //nolint:gosec // a report is for everybody
	case inv.output == outputYAML:
		_, err = stdout.Write(text)
	}
	if err != nil {
		sys.say(err)
		return exitInput
	}
	return status
}

// registerSnapshot adds the flags that say how the input becomes what a cluster has.
func registerSnapshot(inv *invocation, flags *pflag.FlagSet) {
	flags.StringVar(&inv.at, "now", "", "the `time` to plan for, RFC 3339 (default: the newest time that an API server "+
		"put into the input, or else the clock)")
	flags.Func("none", "the cluster has no objects of these `kinds` beyond the input; a list as for kubectl get: "+
		"pdb,rc", func(list string) (err error) {
		inv.none, err = parseKinds(list)
		return err
	})
	flags.BoolVar(&inv.fullHealth, "at-full-health", false,
		"add the pods that the workloads have when all is well: for manifests, which have no pods")
	flags.IntVar(&inv.nodes, "nodes", 0, "with --at-full-health: add this `number` of nodes for the pods")
	if inv.command.name == "drain" { // which reads no roles
		return
	}
	flags.BoolVar(&inv.builtinRoles, "builtin-roles", false,
		"add the ClusterRoles admin, edit and view, and what they aggregate in every cluster")
}

// registerCores adds the flags of commands that plan.
func registerCores(inv *invocation, flags *pflag.FlagSet) {
	registerUpstream(inv, flags, "match-upstream",
		"plan the requests that kube-controller-manager of this `release` would send, its defects included: ")
	flags.Func("core", "plan only this `core`; may be given again: "+strings.Join(coreNames(), ", "),
		func(name string) error {
			inv.names = append(inv.names, name)
			return nil
		})
	registerState(inv, flags)
}

func registerUpstream(inv *invocation, flags *pflag.FlagSet, name, text string) {
	flags.Func(name, text+strings.Join(releases, ", "), func(release string) error {
		upstream, err := purekube.ParseUpstream(release)
		inv.matchUpstream = upstream
		return err
	})
}

// registerState adds the flags about what manifests do not say.
func registerState(inv *invocation, flags *pflag.FlagSet) {
	flags.Func("ttl-step", "the `step` that the ttl controller is at (default: recovered from the nodes)",
		func(s string) error {
			step, err := ttlStep(s)
			inv.ttlStep = &step
			return err
		})
	flags.BoolVar(&inv.assumeComplete, "assume-complete", false,
		"the input has all pods: a pod that is not in it does not exist, and needs no lookup")
}

func registerFailOn(inv *invocation, flags *pflag.FlagSet, known []string) {
	flags.Func("fail-on", "what the exit status tells besides wrong input, a `list` of "+strings.Join(known,
		", ")+" (default error)", func(list string) (err error) {
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
			return fmt.Errorf("--now %q: not a time as RFC 3339 writes it, such as 2026-11-21T01:11:07Z", inv.at)
		}
	}
	if inv.cores, err = selectCores(inv.names); err != nil {
		return err
	}
	if inv.command.name == "drain" {
		if err := inv.drain.checkNodes(); err != nil {
			return err
		}
		if inv.drain.pool != "" && !inv.forPeople() {
			return fmt.Errorf("--pool is for -o %s and -o %s", outputText, outputWide)
		}
	}
	if inv.command.name == "report" {
		if err := inv.drain.checkReport(inv.output); err != nil {
			return err
		}
	}
	if inv.detailedExitCode {
		inv.failOn = append(inv.failOn, failOnAction)
	}
	never := slices.Contains(inv.failOn, failOnNever)
	judged := inv.command.name == "drain" || slices.ContainsFunc(inv.cores, func(c core) bool {
		return c.name == "disruption"
	})
	switch {
	case len(inv.command.outputs) == 0:
		return nil
	case !slices.Contains(inv.command.outputs, inv.output):
		return fmt.Errorf("-o %q: %s prints %s", inv.output, inv.command.name, strings.Join(inv.command.outputs, ", "))
	case inv.command.name == "explain" && inv.about == "":
		return fmt.Errorf("explain needs an object: KIND/NAMESPACE/NAME, or KIND/NAME of an object without a namespace")
	case never && !judged:
		return fmt.Errorf("--fail-on never is for drain and the core disruption")
	case inv.passEmptyBudgets && !never:
		return fmt.Errorf("--ignore-budgets-without-pods is for --fail-on never")
	case inv.maxUnzipped < 1 || inv.maxUnzipped > math.MaxInt64>>20:
		return fmt.Errorf("--max-unzipped %d: must be a number of MiB, 1 or more", inv.maxUnzipped)
	case inv.nodes < 0 || inv.nodes > manifests.MaxNodes:
		return fmt.Errorf("--nodes %d: must be a number from 0 to %d", inv.nodes, manifests.MaxNodes)
	case inv.nodes > 0 && !inv.fullHealth:
		return fmt.Errorf("--nodes is for --at-full-health")
	case inv.demo && len(inv.paths) > 0:
		return fmt.Errorf("--demo reads the embedded cluster: it cannot be combined with %s", inv.paths[0])
	}
	return inv.checkInput(sys)
}

// checkInput says what is read: files, what is piped, the embedded cluster, or, where none of these is named, the
// cluster of the current context. lint is for manifests, and reads a cluster only if it is told to.
func (inv *invocation) checkInput(sys system) error {
	named := inv.demo || len(inv.paths) > 0
	switch {
	case named && inv.live:
		return fmt.Errorf("--live is the cluster of the current context, without files and --demo")
	case inv.command.name != "lint":
		inv.live = !named && (!sys.piped || inv.ofCluster())
	case !named && !inv.live && !sys.piped:
		return fmt.Errorf(
			"lint has nothing to read: name files or directories, pipe manifests into it, or take --live for a cluster " +
				"(--demo is the cluster embedded in purekube)")
	}
	if inv.ofCluster() && !inv.live {
		return fmt.Errorf(
			"--context, --kubeconfig, --namespace, --as and --request-timeout are for a cluster, and not for files")
	}
	if inv.live && inv.output == outputSARIF {
		return fmt.Errorf("-o sarif is for files: it names the file of each finding, and objects of a cluster are in none " +
			"(-o json and -o github name the object)")
	}
	if inv.watch && (!inv.live || !inv.forPeople() || inv.outputFile != "") {
		return fmt.Errorf("--watch is for a cluster, and prints text to standard output: without files, -o and --output-file")
	}
	if inv.drains() && ptr.Deref(inv.kube.Namespace, "") != "" {
		return fmt.Errorf("--namespace: a node has pods of all namespaces")
	}
	return nil
}

// aboutPurekube is the first part of the help text.
const aboutPurekube = `purekube says what five controllers of kube-controller-manager would do with the objects of a
cluster, whether nodes drain, and why. It changes nothing.

Without files it reads what is piped into it, or else the cluster of the current context. lint reads a cluster
only with --live. Without arguments purekube says what would happen in a small cluster that is embedded in it; --demo
is that cluster for every command. Dump a large cluster as JSON (kubectl get … -o json): it is read about twice as
fast as YAML. Files may be compressed with gzip.
`
