package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/clientgo"
)

const withoutLease = "without a Lease two managers create two claims for each pod and keep overwriting each other's " +
	"TTLs"

// settings are the manager's flags.
type settings struct {
	clientgo.SetOptions
	kubeconfig, address, logFormat      string
	leaderElect, singleReplica, verbose bool
}

func parseSettings(args []string, out io.Writer) (s settings, err error) {
	s.Component = component
	lease := &clientgo.Lease{Name: component}
	f := flag.NewFlagSet(component, flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&s.kubeconfig, "kubeconfig", "",
		"`file` with the address of the API server and the credentials; without it, the pod's own")
	controllers := f.String("controllers", "*",
		"`names` of the controllers to run, with commas between them; * is all of them, -name leaves that one out.\nThere "+
			"are "+strings.Join(clientgo.Names(), ", "))
	f.BoolVar(&s.DryRun, "dry-run", false, "log each request, and send none")
	release := f.String("match-upstream", "",
		"Kubernetes `release` whose kube-controller-manager to follow in every request, for example v1.36")
	f.IntVar(&s.Workers, "workers", 4, "plans of each controller at the same time")
	qps := f.Float64("kube-api-qps", 50,
		"requests per second of each client: the informers, the events, and the writes of each controller have one")
	f.IntVar(&s.Burst, "kube-api-burst", 100, "requests at once of each client")
	lookupQPS := f.Float64("lookup-qps", 50, "lookups per second of each controller")
	f.StringVar(&s.address, "listen-address", ":8080", "`address` of /healthz, /readyz and /metrics")
	f.BoolVar(&s.leaderElect, "leader-elect", true, "work only while holding a Lease, so that several managers can run")
	f.BoolVar(&s.singleReplica, "single-replica", false,
		"confirm with -leader-elect=false that no other manager runs in this cluster, a rolling update included:\n"+
			withoutLease)
	f.StringVar(&lease.Namespace, "leader-elect-namespace", "purekube",
		"`namespace` of the Lease. The managers of a cluster must have the same")
	f.DurationVar(&lease.Duration, "leader-elect-lease-duration", 15*time.Second,
		"how long another manager waits after the last renewal")
	f.DurationVar(&lease.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second,
		"how long a leader keeps working without a renewal of the Lease")
	f.DurationVar(&lease.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "how long to wait between attempts")
	f.StringVar(&s.logFormat, "log-format", "text", "text or json")
	f.BoolVar(&s.verbose, "verbose", false, "log debug messages, too")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	s.QPS, s.LookupQPS = float32(*qps), float32(*lookupQPS)
	if s.leaderElect {
		s.Lease = lease
	}
	var upstream purekube.Upstream
	if s.Controllers, err = choose(*controllers); err == nil && *release != "" {
		upstream, err = purekube.ParseUpstream(*release)
	}
	s.PackageOptions = clientgo.Match(upstream)
	if err = errors.Join(err, s.check(f.Args())); err != nil {
		fmt.Fprintln(out, err)
	}
	return s, err
}

func (s settings) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unknown arguments: %q", rest)
	case !slices.Contains([]string{"text", "json"}, s.logFormat):
		return fmt.Errorf("-log-format %s: neither text nor json", s.logFormat)
	case !s.leaderElect && !s.singleReplica && !s.DryRun:
		return errors.New("-leader-elect=false: " + withoutLease +
			"; add -single-replica if no other manager runs in this cluster")
	case s.leaderElect && s.singleReplica:
		return errors.New("-single-replica is for -leader-elect=false: with a Lease, any number of managers can run")
	case s.QPS <= 0 || s.LookupQPS <= 0 || s.Burst < 1 || s.Workers < 1:
		return errors.New("-kube-api-qps, -lookup-qps, -kube-api-burst, -workers: each must be more than zero")
	}
	return nil
}

// choose reads the flag -controllers. Later words win: *,-ttl is all but ttl.
func choose(words string) (chosen []string, err error) {
	for word := range strings.SplitSeq(words, ",") {
		name, without := strings.CutPrefix(strings.TrimSpace(word), "-")
		if name == "*" {
			chosen = clientgo.Names()
			continue
		}
		if chosen = slices.DeleteFunc(chosen, func(c string) bool { return c == name }); !without {
			chosen = append(chosen, name)
		}
		if !slices.Contains(clientgo.Names(), name) {
			return nil, fmt.Errorf("-controllers: unknown %q: known are %s", name, strings.Join(clientgo.Names(), ", "))
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("-controllers %s: no controller is left to run", words)
	}
	slices.Sort(chosen)
	return chosen, nil
}

// setUpLogging makes the manager and client-go log to out in one format.
func (s settings) setUpLogging(out io.Writer) {
	options := &slog.HandlerOptions{Level: map[bool]slog.Level{true: slog.LevelDebug}[s.verbose]}
	logger := slog.New(slog.NewTextHandler(out, options))
	if s.logFormat == "json" {
		logger = slog.New(slog.NewJSONHandler(out, options))
	}
	slog.SetDefault(logger)
	klog.SetSlogLogger(logger)
}
