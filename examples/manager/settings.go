package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/examples/manager/cores"
)

// settings are the manager's flags.
type settings struct {
	kubeconfig     string
	controllers    []string
	dryRun         bool
	matchUpstream  purekube.Upstream
	workers        int
	qps, lookupQPS float32
	burst          int
	address        string

	leaderElect, singleReplica                bool
	leaseNamespace                            string
	leaseDuration, renewDeadline, retryPeriod time.Duration

	logFormat string
	verbose   bool
}

func parseSettings(args []string, out io.Writer) (settings, error) {
	var s settings
	var controllers, release string
	var qps, lookupQPS float64
	f := flag.NewFlagSet(component, flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&s.kubeconfig, "kubeconfig", "", "`file` with the address of the API server and the credentials; without it, those of the pod that this runs in")
	f.StringVar(&controllers, "controllers", "*", "`names` of the controllers to run, with commas between them; * is all of them, -name is without that one.\nThere are "+strings.Join(names(), ", "))
	f.BoolVar(&s.dryRun, "dry-run", false, "log each request, and send none")
	f.StringVar(&release, "match-upstream", "", "Kubernetes `release` whose kube-controller-manager to follow in every request, for example v1.36")
	f.IntVar(&s.workers, "workers", 4, "plans of each controller at the same time")
	f.Float64Var(&qps, "kube-api-qps", 50, "requests per second of each client: the informers, the events, and the writes of each controller have one")
	f.IntVar(&s.burst, "kube-api-burst", 100, "requests at once of each client")
	f.Float64Var(&lookupQPS, "lookup-qps", 50, "lookups per second of each controller")
	f.StringVar(&s.address, "listen-address", ":8080", "`address` of /healthz, /readyz and /metrics")
	f.BoolVar(&s.leaderElect, "leader-elect", true, "work only while holding a Lease, so that several managers can run")
	f.BoolVar(&s.singleReplica, "single-replica", false, "confirm with -leader-elect=false that no other manager runs in this cluster, a rolling update included:\n"+
		"without a Lease two managers create two claims for each pod and keep overwriting each other's TTLs")
	f.StringVar(&s.leaseNamespace, "leader-elect-namespace", "purekube", "`namespace` of the Lease. The managers of a cluster must have the same")
	f.DurationVar(&s.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "how long another manager waits after the last sign of life")
	f.DurationVar(&s.renewDeadline, "leader-elect-renew-deadline", 10*time.Second, "how long a leader goes on without having renewed the Lease")
	f.DurationVar(&s.retryPeriod, "leader-elect-retry-period", 2*time.Second, "how long to wait between attempts")
	f.StringVar(&s.logFormat, "log-format", "text", "text or json")
	f.BoolVar(&s.verbose, "verbose", false, "log debug messages, too")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	s.matchUpstream = purekube.Upstream(release)
	s.qps, s.lookupQPS = float32(qps), float32(lookupQPS)
	var err error
	if s.controllers, err = choose(controllers); err == nil {
		err = s.check(f.Args())
	}
	if err != nil {
		fmt.Fprintln(out, err)
	}
	return s, err
}

func (s settings) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unknown arguments: %q", rest)
	case s.logFormat != "text" && s.logFormat != "json":
		return fmt.Errorf("-log-format %s: neither text nor json", s.logFormat)
	case !slices.Contains([]purekube.Upstream{"", purekube.V1_36, purekube.V1_37}, s.matchUpstream):
		return fmt.Errorf("-match-upstream %s: there are %s and %s", s.matchUpstream, purekube.V1_36, purekube.V1_37)
	case !s.leaderElect && !s.singleReplica && !s.dryRun:
		return errors.New("-leader-elect=false: without a Lease two managers create two claims for each pod and keep overwriting each other's TTLs; " +
			"add -single-replica if no other manager runs in this cluster")
	case s.leaderElect && s.singleReplica:
		return errors.New("-single-replica is for -leader-elect=false: with a Lease, any number of managers can run")
	case s.qps <= 0 || s.lookupQPS <= 0 || s.burst < 1:
		// client-go takes zero for its default, and less for no limit.
		return errors.New("-kube-api-qps, -lookup-qps, -kube-api-burst: each has to be more than zero")
	case s.workers < 1:
		return fmt.Errorf("-workers %d: there has to be one", s.workers)
	}
	return nil
}

// choose reads the flag -controllers. Later words win: *,-ttl is all but ttl.
func choose(words string) ([]string, error) {
	chosen := map[string]bool{}
	for word := range strings.SplitSeq(words, ",") {
		word = strings.TrimSpace(word)
		name, without := strings.CutPrefix(word, "-")
		switch {
		case word == "*":
			for _, name := range names() {
				chosen[name] = true
			}
		case cores.All[name] == nil:
			return nil, fmt.Errorf("-controllers: there is no %q, but %s", name, strings.Join(names(), ", "))
		case without:
			delete(chosen, name)
		default:
			chosen[name] = true
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("-controllers %s: none is left to run", words)
	}
	return slices.Sorted(maps.Keys(chosen)), nil
}

func names() []string { return slices.Sorted(maps.Keys(cores.All)) }

// setUpLogging makes the manager and client-go log to out in one format.
func (s settings) setUpLogging(out io.Writer) {
	options := &slog.HandlerOptions{}
	if s.verbose {
		options.Level = slog.LevelDebug
	}
	var handler slog.Handler = slog.NewTextHandler(out, options)
	if s.logFormat == "json" {
		handler = slog.NewJSONHandler(out, options)
	}
	logger := slog.New(handler)
	slog.SetDefault(logger)
	klog.SetSlogLogger(logger)
}
