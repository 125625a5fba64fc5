package main

import (
	"io"

	"github.com/purekube/purekube/manifests/lint"
)

// The JSON form of what lint finds. FORMAT.md describes it.
type (
	jsonLint struct {
		FormatVersion string        `json:"formatVersion"`
		Findings      []jsonFinding `json:"findings"`
		Suppressed    []jsonFinding `json:"suppressed,omitempty"`
		Errors        []jsonProblem `json:"errors,omitempty"`
	}
	jsonFinding struct {
		Code      lint.Code     `json:"code"`
		Severity  lint.Severity `json:"severity"`
		Kind      string        `json:"kind"`
		Namespace string        `json:"namespace,omitempty"`
		Name      string        `json:"name"`
		File      string        `json:"file,omitempty"`
		Document  int           `json:"document,omitempty"`
		Item      int           `json:"item,omitempty"`
		Line      int           `json:"line,omitempty"`
		Field     string        `json:"field,omitempty"`
		Message   string        `json:"message"`
		Page      string        `json:"page"`
	}
)

func (l linted) writeJSON(w io.Writer) error {
	return encode(w, jsonLint{formatVersion, jsonFindings(l.Findings), jsonFindings(l.Suppressed), l.report.errors()})
}

func jsonFindings(findings []lint.Finding) []jsonFinding {
	all := []jsonFinding{}
	for _, f := range findings {
		all = append(all, jsonFinding{
			Code: f.Code, Severity: f.Severity, Kind: f.Object.Kind, Namespace: f.Object.Namespace, Name: f.Object.Name,
			File: f.At.File, Document: f.At.Document, Item: f.At.Item, Line: f.At.Line,
			Field: f.Field, Message: f.Message, Page: lintPages + string(f.Code) + ".md",
		})
	}
	return all
}
