package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTables(t *testing.T) {
	const model = `=== RUN   TestGuaranteesHold
=== RUN   TestGuaranteesHold/ServiceCIDRs,_twins,_caches_behind_by_two
=== PAUSE TestGuaranteesHold/ServiceCIDRs,_twins,_caches_behind_by_two
=== CONT  TestGuaranteesHold/ServiceCIDRs,_twins,_caches_behind_by_two
=== CONT  TestGuaranteesHold/ClusterRoles,_caches_behind_by_one
=== NAME  TestGuaranteesHold/ServiceCIDRs,_twins,_caches_behind_by_two
    model_test.go:92: ServiceCIDRs, twins: 310 states, 616 steps, depth 7, 100ms: closed, there are no other states
=== NAME  TestGuaranteesHold/ClusterRoles,_caches_behind_by_one
    model_test.go:92: ClusterRoles: 303 states, 528 steps, depth 3, 1m2s: cut off by time at depth 3
--- FAIL: TestGuaranteesHold (0.00s)
    --- PASS: TestGuaranteesHold/ServiceCIDRs,_twins,_caches_behind_by_two (0.09s)
    --- FAIL: TestGuaranteesHold/ClusterRoles,_caches_behind_by_one (0.10s)
=== RUN   TestNodes
--- SKIP: TestNodes (0.00s)
FAIL
FAIL	example.com/model	1.064s
`
	const parity = `=== RUN   TestDisruption
    disruption_test.go:114: PARITY_SEED=1 PARITY_CASES=30
    disruption_test.go:114: 30 cases without a difference; of them had
          23.3 %  nothing
--- PASS: TestDisruption (0.03s)
PASS
ok  	example.com/parity	2.1s
`
	const fuzzing = `fuzz: elapsed: 0s, gathering baseline coverage: 0/76 completed
fuzz: elapsed: 3s, execs: 52 (17/sec), new interesting: 1 (total: 77)
fuzz: elapsed: 17s, execs: 652 (0/sec), new interesting: 7 (total: 83)
PASS
ok  	example.com/ttl	17.1s
`
	for _, tc := range []struct{ name, reason, in, want string }{
		{
			"searches", "a search has its cache lag from the name of its test, and a test that fails says so", model,
			`| scenario | cache lag | states | steps between them | depth | time | end |
|---|---|---|---|---|---|---|
| ServiceCIDRs, twins | two | 310 | 616 | 7 | 100ms | closed, there are no other states |
| ClusterRoles | one | 303 | 528 | 3 | 1m2s | cut off by time at depth 3 |

| test | result | seconds | what it says |
|---|---|---|---|
| TestGuaranteesHold | fails | 0.00 |  |
| TestNodes | not run | 0.00 |  |

| package | result | seconds |
|---|---|---|
| example.com/model | fails | 1.064 |

`,
		},
		{
			"tests", "what a test logs stands beside its result, without what goes on in the next lines", parity,
			`| test | result | seconds | what it says |
|---|---|---|---|
| TestDisruption | passes | 0.03 | PARITY_SEED=1 PARITY_CASES=30; 30 cases without a difference |

| package | result | seconds |
|---|---|---|
| example.com/parity | passes | 2.1 |

`,
		},
		{
			"fuzzing", "the last line of a package counts, and the test's own row would say the same", fuzzing,
			`| package | result | time | executions | new inputs |
|---|---|---|---|---|
| example.com/ttl | passes | 17s | 652 | 7 |

`,
		},
		{
			"a table", "internal/test/mutation prints one itself", "building\n| package | mutants |\n|---|---|\n| ./ttl | 185 |\n",
			"| package | mutants |\n|---|---|\n| ./ttl | 185 |\n\n",
		},
		{"a cell with a bar", "it would be two cells", "=== RUN   TestA\n    a_test.go:1: a | b\n--- PASS: TestA (0.00s)\n", `| test | result | seconds | what it says |
|---|---|---|---|
| TestA | passes | 0.00 | a \| b |

`},
		{"nothing", "no table without rows", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got strings.Builder
			require.NoError(t, write(&got, strings.NewReader(tc.in)))
			require.Equal(t, tc.want, got.String(), tc.reason)
		})
	}
}
