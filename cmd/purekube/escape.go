package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// visible is a text of the input as it is printed. Whoever writes an object may put anything into its names: what is
// not printable (escape sequences, line ends, characters that turn the direction of the text) becomes \u001b and the
// like, and so does what CI systems take for a command in the middle of a line: ##[error], ##vso[task…].
func visible(s string) string {
	if !hidesSomething(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\u%04x`, s[i]) // not UTF-8
		case !strconv.IsPrint(r):
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		case startsCommand(s, i):
			b.WriteString(`\u0023`)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidesSomething(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f || startsCommand(s, i) {
			return true
		}
	}
	return false
}

// startsCommand reports whether the second # of ##[ or ##word is here. The # of a heading has a space after it.
func startsCommand(s string, i int) bool {
	if s[i] != '#' || i == 0 || s[i-1] != '#' || i+1 == len(s) {
		return false
	}
	next := s[i+1] | 0x20 // in lower case
	return s[i+1] == '[' || next >= 'a' && next <= 'z'
}

// visibleLine is a line of output. CI systems take one such as ::error::text for a command.
func visibleLine(s string) string {
	text := strings.TrimLeft(s, " ")
	if strings.HasPrefix(text, "::") && strings.Contains(text[2:], "::") {
		return s[:len(s)-len(text)] + `\u003a` + text[1:]
	}
	return s
}

// visibleWriter writes lines of JSON, HTML or Markdown as [visible] does. Outside of strings JSON has nothing to
// escape, and inside them the escapes of JSON apply.
type visibleWriter struct {
	w io.Writer
	// line is what was written of a line.
	line []byte
}

func (v *visibleWriter) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		v.line = append(v.line, line...)
		if line[len(line)-1] != '\n' {
			break
		}
		if _, err := io.WriteString(v.w, visibleLine(visible(string(v.line[:len(v.line)-1])))+"\n"); err != nil {
			return 0, err
		}
		v.line = v.line[:0]
	}
	return len(p), nil
}
