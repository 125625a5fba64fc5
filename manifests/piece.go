package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// piece is the text of one object, or of anything else in the input: as much of it as is read at once. A list is not
// read as a whole: each of its items is a piece, and the text around the items is another piece, after them.
type piece struct {
	at   Ref
	text []byte
	json bool
	// around: text is a list without its items.
	around bool
	// first is the line that text begins with, from 1.
	first int
	// cut: the input ends behind this YAML document without the end of a line.
	cut bool
	// err is why the input cannot be read any further.
	err error
}

// pieces calls yield for each piece of a stream of manifests, JSON values or YAML documents, until there are
// no more or yield returns false.
func pieces(name string, r *bounded, all func(piece) bool) {
	yield := func(p piece) bool {
		r.next(len(p.text))
		return all(p)
	}
	buffered := bufio.NewReaderSize(r, 1<<16)
	if err := skipByteOrderMark(buffered); err != nil {
		yield(piece{at: Ref{File: name}, err: err})
		return
	}
	if startsJSON(buffered) {
		jsonPieces(name, buffered, yield)
		return
	}
	yamlPieces(name, buffered, yield)
}

// startsJSON reports whether the first character that is not white space opens a JSON object. Two of them open an
// expression of a Helm template, which is no JSON.
func startsJSON(r *bufio.Reader) bool {
	for n := 1; ; n++ {
		head, err := r.Peek(n)
		if err != nil {
			return false
		}
		if last := head[n-1]; !strings.ContainsRune(" \t\r\n", rune(last)) {
			next, _ := r.Peek(n + 1)
			return last == '{' && !bytes.HasSuffix(next, []byte("{{"))
		}
	}
}

// itemLines are the lines that the items of a YAML list begin in. If the list is not in block style, they are the lines
// of its document.
func (p piece) itemLines(items int) []int {
	var lines []int
	if !p.json {
		d := yamlDocument{streaming: true, number: p.first - 1, yield: func(item piece) bool {
			lines = append(lines, item.at.Line)
			return true
		}}
		for line := range bytes.Lines(p.text) {
			d.line(line)
		}
		d.flush()
	}
	if len(lines) == items {
		return lines
	}
	return slices.Repeat([]int{p.at.Line}, items)
}

// asJSON is the text of a piece as JSON.
func (p piece) asJSON() ([]byte, error) {
	// The JSON decoder replaces what is no UTF-8, also in names: two objects would have one name, or another one's.
	if p.json && !utf8.Valid(p.text) {
		return nil, errors.New("not JSON: it is not UTF-8")
	}
	if p.json {
		return p.text, nil
	}
	raw, err := yamlToJSON(p.text)
	switch {
	case err != nil && bytes.Contains(p.text, []byte("{{")):
		return nil, fmt.Errorf("not YAML: %s. Render a Helm chart first, with helm template", oneLine(err.Error()))
	case err != nil:
		return nil, fmt.Errorf("not YAML: %s", oneLine(err.Error()))
	}
	return raw, nil
}
