package manifests

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
)

func jsonPieces(name string, r io.Reader, yield func(piece) bool) {
	lines := &lineCounter{r: r, line: 1}
	values := jsonReader{stdjson.NewDecoder(lines), lines}
	at := Ref{File: name}
	for at.Document = 1; ; at.Document++ {
		more, err := values.value(at, yield)
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			// What follows a broken value cannot be told apart from it.
			yield(piece{at: at, err: fmt.Errorf("not JSON: %w", err)})
			return
		case !more:
			return
		}
	}
}

// jsonReader reads JSON values, and knows in which line they begin.
type jsonReader struct {
	*stdjson.Decoder
	lines *lineCounter
}

// lineCounter counts the lines of what is read through it.
type lineCounter struct {
	r io.Reader
	// read is how many bytes were read. ends are the places of line feeds in them that at has not counted.
	read int64
	ends []int64
	// line is the line of the last place that was asked for.
	line int
}

func (c *lineCounter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	for i, b := range p[:n] {
		if b == '\n' {
			c.ends = append(c.ends, c.read+int64(i))
		}
	}
	c.read += int64(n)
	return n, err
}

// at is the line of a place. Places have to be asked for in order.
func (c *lineCounter) at(place int64) int {
	passed := 0
	for passed < len(c.ends) && c.ends[passed] < place {
		passed++
	}
	c.line += passed
	c.ends = c.ends[:copy(c.ends, c.ends[passed:])]
	return c.line
}

// value reads one value. Of an object whose items are a list it reads one item after the other. The
// error is io.EOF when there is no value any more.
func (r jsonReader) value(at Ref, yield func(piece) bool) (more bool, err error) {
	token, err := r.Token()
	if err != nil {
		return false, err
	}
	at.Line = r.lines.at(r.InputOffset() - 1)
	if token != stdjson.Delim('{') {
		return false, errors.New("not an object")
	}
	rest := map[string]stdjson.RawMessage{}
	isList := false
	for r.More() {
		key, err := r.Token()
		if err != nil {
			return false, inTheMiddle(err)
		}
		if _, twice := rest[key.(string)]; twice || key == "items" && isList {
			return false, fmt.Errorf("the key %q is given twice", key)
		}
		if key == "items" {
			var more bool
			isList, more, err = r.items(at, rest, yield)
			if err != nil || !more {
				return more, inTheMiddle(err)
			}
			continue
		}
		var value stdjson.RawMessage
		if err := r.Decode(&value); err != nil {
			return false, inTheMiddle(err)
		}
		rest[key.(string)] = value
	}
	if _, err := r.Token(); err != nil {
		return false, inTheMiddle(err)
	}
	text, err := stdjson.Marshal(rest)
	return err == nil && yield(piece{at: at, text: text, json: true, around: isList}), err
}

// items reads the value behind the key "items": item by item if it is a list, otherwise into rest.
func (r jsonReader) items(
	at Ref, rest map[string]stdjson.RawMessage, yield func(piece) bool,
) (isList, more bool, err error) {
	token, err := r.Token()
	if err != nil {
		return false, false, err
	}
	if token == nil {
		return true, true, nil // null is what Go writes for a list without items
	}
	if token != stdjson.Delim('[') {
		// No list, so no Kubernetes list either: what is inside does not matter.
		if token == stdjson.Delim('{') {
			err = r.skip()
		}
		rest["items"] = stdjson.RawMessage("0")
		return false, true, err
	}
	for at.Item = 1; r.More(); at.Item++ {
		var item stdjson.RawMessage
		if err := r.Decode(&item); err != nil {
			return true, false, err
		}
		at.Line = r.lines.at(r.InputOffset() - int64(len(item)))
		if !yield(piece{at: at, text: item, json: true}) {
			return true, false, nil
		}
	}
	_, err = r.Token()
	return true, true, err
}

// skip reads on to the end of an object that has been opened.
func (r jsonReader) skip() error {
	for depth := 1; depth > 0; {
		token, err := r.Token()
		if err != nil {
			return err
		}
		switch token {
		case stdjson.Delim('{'), stdjson.Delim('['):
			depth++
		case stdjson.Delim('}'), stdjson.Delim(']'):
			depth--
		}
	}
	return nil
}

// inTheMiddle is the error for input that ends inside a value, whatever the release of Go calls it.
func inTheMiddle(err error) error {
	var syntax *stdjson.SyntaxError
	if errors.Is(err, io.EOF) || errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input" {
		return io.ErrUnexpectedEOF
	}
	return err
}
