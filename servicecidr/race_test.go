//go:build race

package servicecidr_test

const raceDetector = true
