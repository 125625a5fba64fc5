package servicecidr

import "time"

// MaxRetries is how often a failed ServiceCIDR is tried again before it is dropped (BR-31-04).
const MaxRetries = 15

const firstRetryDelay = 5 * time.Millisecond

// RetryDelay returns how long to wait before the given retry, which counts from 1: 5 ms, then
// twice as long each time, up to 81.92 s (BR-31-04). For a retry before the first or after MaxRetries
// ok is false: drop the ServiceCIDR until something changes. Upstream's queue also limits the rate of all retries
// together; this does not.
func RetryDelay(retry int) (delay time.Duration, ok bool) {
	if retry < 1 || retry > MaxRetries {
		return 0, false
	}
	return firstRetryDelay << (retry - 1), true
}
