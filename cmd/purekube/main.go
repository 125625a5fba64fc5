// Purekube reads a cluster, manifests, or what kubectl get prints, and says what five controllers of
// kube-controller-manager would do with the objects, whether nodes drain, and why. It changes nothing.
//
//	purekube COMMAND [flags] [FILE | DIRECTORY | - …]
//
// Without arguments it plans a small cluster that is embedded in it; --demo is that cluster for every command. purekube
// -h lists the commands. The exit status tells the result; see exit.go.
package main

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/manifests"
)

func main() {
	// A dump of a large cluster is memory first of all. This takes a sixth off the most that is in use, for some more
	// time.
	debug.SetGCPercent(50)
	os.Exit(run(os.Args[1:], system{
		name:    filepath.Base(os.Args[0]),
		stdin:   os.Stdin,
		stdout:  os.Stdout,
		stderr:  os.Stderr,
		now:     time.Now,
		colour:  wantsColour(os.Stdout, os.LookupEnv),
		watched: isTerminal(os.Stderr),
		piped:   isPiped(os.Stdin),
		settle:  settle,
	}))
}

// system is what the program takes from the machine that it runs on.
type system struct {
	// name is what the program is called.
	name           string
	stdin          io.Reader
	stdout, stderr io.Writer
	// files is nil for the files of the machine.
	files  fs.FS
	now    func() time.Time
	colour bool
	// watched: stderr is a terminal. piped: stdin is a pipe or a file, so it is read where no path is named.
	watched, piped bool
	// settle is how long --watch gathers changes before it answers again.
	settle time.Duration
}

// displayName is the program in its help texts. As a plugin it is called by kubectl.
func (sys system) displayName() string {
	if strings.HasPrefix(sys.name, "kubectl-purekube") {
		return "kubectl purekube"
	}
	return "purekube"
}

// settings are the flags that a core may want to know.
type settings struct {
	now           time.Time
	nowFrom       string
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

// The values of settings.nowFrom: where the time that is planned for is from.
const (
	nowFromClock = "clock"
	nowFromFlag  = "flag"
	nowFromInput = "input"
)

// maxAge is how old an input may be to be one of now, which needs no note.
const maxAge = time.Minute

// releases are the values of --match-upstream.
var releases = []string{string(purekube.V1_36), string(purekube.V1_37)}

// run is the program without its process.
func run(args []string, sys system) int {
	inv, err := parse(args, sys)
	switch {
	case err != nil:
		sys.say(err)
		return exitInput
	case inv == nil:
		return exitPlanned
	}
	return inv.answer(sys)
}

//go:embed cluster
var embedded embed.FS

// load reads the paths, what is piped, or the embedded cluster.
func (inv *invocation) load(sys system) *cluster {
	p := sys.progress()
	defer p.done()
	o := manifests.Options{
		Stdin: sys.stdin, Files: sys.files, None: kindsNamed(inv.none), MaxUnzipped: inv.maxUnzipped << 20, Progress: p.count,
		Transform: (&slimmer{}).slim,
	}
	paths := inv.paths
	switch {
	case inv.demo:
		o.Files = embedded
		paths = []string{"cluster"}
		fmt.Fprintln(sys.notes(*inv),
			"The cluster embedded in purekube. For your own, name or pipe files, or run a command without --demo.")
	case len(paths) == 0:
		paths = []string{"-"}
	}
	var c *cluster
	if inv.live {
		c = inv.readCluster(sys, o)
	} else {
		c = load(o, paths...)
		inv.takeTime(c)
		if inv.command.name == "drain" || len(c.Nodes) > 0 {
			c.noteNamespace()
		}
	}
	if inv.fullHealth {
		c.atFullHealth(inv.nodes)
	}
	if inv.builtinRoles {
		c.Set = c.WithBuiltinClusterRoles()
	}
	c.sayNotes(sys.notes(*inv))
	return c
}

// takeTime takes the time of the input: a pod that was terminating when it was taken is not overdue an hour later. A
// time ahead of the clock is wrong, and is passed over.
func (inv *invocation) takeTime(c *cluster) {
	t := c.Newest(inv.now)
	if inv.nowFrom != nowFromClock || t.IsZero() {
		return
	}
	// lint says nothing that depends on the time, and the embedded cluster is as old as it is.
	if inv.now.Sub(t) > maxAge && inv.command.name != "lint" && !inv.demo {
		c.Notes = append(c.Notes, manifests.Note{
			Text: fmt.Sprintf("the time is taken to be %s, the newest in the input: --now sets another",
				t.UTC().Format(time.RFC3339)),
		})
	}
	inv.now, inv.nowFrom = t, nowFromInput
}

// notes is where a line for people goes: to the text that it is about, or beside output for programs.
func (sys system) notes(inv invocation) io.Writer {
	if inv.forPeople() {
		return sys.stdout
	}
	return sys.stderr
}

// say prints a line about what is wrong.
func (sys system) say(what any) {
	fmt.Fprintf(sys.stderr, "purekube: %s\n", visible(fmt.Sprint(what)))
}

// maxAlike is how many problems of one text are printed: a dump can have the same mistake in each object.
const maxAlike = 20

// sayAll prints problems, a line each, and counts what is the same in many places.
func (sys system) sayAll(problems []problem) {
	type kind struct{ field, what string }
	all, said := map[kind]int{}, map[kind]int{}
	for _, p := range problems {
		all[kind{p.field, p.what}]++
	}
	for _, p := range problems {
		alike := kind{p.field, p.what}
		said[alike]++
		switch {
		case said[alike] <= maxAlike || all[alike] == maxAlike+1:
			sys.say(p)
		case said[alike] == maxAlike+1:
			sys.say(problem{object: message.Count(all[alike]-maxAlike, "more place"), field: p.field, what: p.what})
		}
	}
}
