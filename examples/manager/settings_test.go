package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChooseControllers(t *testing.T) {
	for _, tc := range []struct{ flag, want, err, reason string }{
		{"*", "disruption rbacaggregate resourceclaim servicecidr ttl", "", "all of them"},
		{"*,-ttl", "disruption rbacaggregate resourceclaim servicecidr", "", "all but one"},
		{"ttl, servicecidr", "servicecidr ttl", "", "spaces do not matter"},
		{"ttl,ttl", "ttl", "", "once is enough"},
		{"-ttl,ttl", "ttl", "", "the later word wins"},
		{"ttl,-ttl", "", "no controller is left", "then there is nothing to run"},
		{"", "", `unknown ""`, "an empty list is a mistake"},
		{"nodes", "", `unknown "nodes": known are disruption`, "a typing error must not run less than was asked for"},
		{"*,-nodes", "", `unknown "nodes"`, "nor more"},
	} {
		t.Run(tc.flag, func(t *testing.T) {
			chosen, err := choose(tc.flag)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err, tc.reason)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, strings.Join(chosen, " "), tc.reason)
		})
	}
}

func TestFlagsThatAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-controllers=x"}, {"-log-format=xml"}, {"-workers=0"}, {"extra"}, {"-unknown"}, {"-match-upstream=v1.30"}} {
		_, err := parseSettings(args, io.Discard)
		require.Error(t, err, "%v", args)
	}
	s, err := parseSettings([]string{"-match-upstream=v1.36", "-dry-run"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "v1.36", string(s.Disruption.MatchUpstream))
}

// Without a Lease two managers write against each other, so running without one takes a confirmation.
func TestNoLeaseTakesAConfirmation(t *testing.T) {
	for _, tc := range []struct {
		name, args, err, reason string
		lease                   bool
	}{
		{"by default", "", "", "several managers can run", true},
		{"turned off", "-leader-elect=false", "-single-replica", "the message says what to add", false},
		{"confirmed", "-leader-elect=false -single-replica", "", "told so", false},
		{"dry run", "-leader-elect=false -dry-run", "", "it writes nothing", false},
		{"confirmed alone", "-single-replica", "-leader-elect=false", "it would be waiting for the Lease of another manager", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			s, err := parseSettings(strings.Fields(tc.args), &out)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err, tc.reason)
				require.Contains(t, out.String(), tc.err, "the user reads it, too")
				return
			}
			require.NoError(t, err, tc.reason)
			require.Equal(t, tc.lease, s.leaderElect)
		})
	}
}
