package main

import (
	"io"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/manifests/lint"
)

// What SARIF 2.1.0 needs of its objects (docs.oasis-open.org/sarif/sarif/v2.1.0).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string             `json:"id"`
		ShortDescription     sarifText          `json:"shortDescription"`
		HelpURI              string             `json:"helpUri"`
		DefaultConfiguration sarifConfiguration `json:"defaultConfiguration"`
	}
	sarifConfiguration struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool                `json:"executionSuccessful"`
		Notifications       []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations,omitempty"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifSuppression struct {
		Kind string `json:"kind"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)

var sarifLevels = map[lint.Severity]string{lint.Error: "error", lint.Warning: "warning", lint.Info: "note"}

// writeSARIF prints the findings as GitHub code scanning and other programs read them. An input with errors is an
// invocation that was not successful.
func (l linted) writeSARIF(w io.Writer) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "purekube", Version: version(),
		InformationURI: "https://github.com/purekube/purekube"}
	index := map[lint.Code]int{}
	for i, r := range lint.Rules() {
		index[r.Code] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: string(r.Code), ShortDescription: sarifText{r.Summary}, HelpURI: lintPages + string(r.Code) + ".md",
			DefaultConfiguration: sarifConfiguration{sarifLevels[r.Severity]},
		})
	}
	for i, f := range slices.Concat(l.Findings, l.Suppressed) {
		result := sarifResult{
			RuleID: string(f.Code), RuleIndex: index[f.Code], Level: sarifLevels[f.Severity],
			Message: sarifText{titleOf(f.Object) + ": " + messageOf(f)}, Locations: locations(f.At, f.Object.String()),
		}
		if i >= len(l.Findings) {
			result.Suppressions = []sarifSuppression{{"inSource"}}
		}
		run.Results = append(run.Results, result)
	}
	invocation := sarifInvocation{ExecutionSuccessful: len(l.report.problems) == 0}
	for _, p := range l.report.problems {
		n := sarifNotification{Level: "error", Message: sarifText{p.String()}}
		if len(p.refs) > 0 {
			n.Locations = locations(p.refs[0], "")
		}
		invocation.Notifications = append(invocation.Notifications, n)
	}
	run.Invocations = []sarifInvocation{invocation}
	return encode(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

func locations(at manifests.Ref, object string) []sarifLocation {
	var where sarifLocation
	if at.File != "" {
		uri := url.URL{Path: filepath.ToSlash(at.File)}
		if filepath.IsAbs(at.File) {
			uri.Scheme = "file"
		}
		where.Physical = &sarifPhysical{Artifact: sarifArtifact{uri.String()}}
		if at.Line > 0 {
			where.Physical.Region = &sarifRegion{at.Line}
		}
	}
	if object != "" {
		where.Logical = []sarifLogical{{object, "resource"}}
	}
	if where.Physical == nil && where.Logical == nil {
		return nil
	}
	return []sarifLocation{where}
}
