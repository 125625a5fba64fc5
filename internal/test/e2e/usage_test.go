package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// usage is what a controller says of itself.
type usage struct {
	requests, cpuSeconds, residentMB float64
}

// usage sums up the controller's metrics.
func (m *manager) usage(t *testing.T) usage {
	t.Helper()
	var page string
	require.Eventually(t, func() bool {
		var err error
		page, err = m.get("/metrics")
		return err == nil
	}, 30*time.Second, 100*time.Millisecond)
	return usage{
		requests:   sumOf(page, "rest_client_requests_total"),
		cpuSeconds: sumOf(page, "process_cpu_seconds_total"),
		residentMB: sumOf(page, "process_resident_memory_bytes") / 1e6,
	}
}

func sumOf(page, metric string) (sum float64) {
	for line := range strings.Lines(page) {
		if rest, found := strings.CutPrefix(line, metric); found && (rest[0] == ' ' || rest[0] == '{') {
			fields := strings.Fields(line)
			if n, err := strconv.ParseFloat(fields[len(fields)-1], 64); err == nil {
				sum += n
			}
		}
	}
	return sum
}

func (u usage) String() string {
	return fmt.Sprintf("%.0f requests, %.1f s of CPU, %.0f MB resident", u.requests, u.cpuSeconds, u.residentMB)
}
