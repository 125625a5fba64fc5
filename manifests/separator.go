package manifests

import "bytes"

// separates reports whether the line begins another YAML document, and returns what of that document the line has:
// "--- # comment", "--- {kind: Node}". As kubectl does, it takes a comment right behind the dashes.
func separates(line []byte) (rest []byte, yes bool) {
	// Files that are joined may each begin with a mark.
	rest, yes = bytes.CutPrefix(bytes.TrimPrefix(line, byteOrderMark), []byte("---"))
	switch {
	case !yes:
		return nil, false
	case len(rest) == 0 || rest[0] == '#':
		return rest, true
	}
	return rest[1:], bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0
}

// ends reports whether the line ends a YAML document without beginning another one: three dots.
func ends(line []byte) bool {
	rest, dots := bytes.CutPrefix(line, []byte("..."))
	return dots && blank(rest) && (len(rest) == 0 || rest[0] != '#')
}
