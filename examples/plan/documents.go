package main

import (
	"bufio"
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// piece is the text of one object, or of what else stands in the input: as much of it as is read at once.
// A list is not read as a whole: each of its items is a piece, and what stands around them is another,
// behind them.
type piece struct {
	at   origin
	text []byte
	json bool
	// around: text is a list without its items.
	around bool
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
	if startsJSON(buffered) {
		jsonPieces(name, buffered, yield)
		return
	}
	yamlPieces(name, buffered, yield)
}

// startsJSON reports whether the first character that is not white space opens a JSON object.
func startsJSON(r *bufio.Reader) bool {
	for n := 1; ; n++ {
		head, err := r.Peek(n)
		if err != nil {
			return false
		}
		if last := head[n-1]; !strings.ContainsRune(" \t\r\n", rune(last)) {
			return last == '{'
		}
	}
}

func jsonPieces(name string, r io.Reader, yield func(piece) bool) {
	decoder := stdjson.NewDecoder(r)
	at := origin{file: name}
	for at.document = 1; ; at.document++ {
		more, err := jsonValue(decoder, at, yield)
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

// jsonValue reads one value. Of an object whose items are a list it reads one item after the other. The
// error is io.EOF when there is no value any more.
func jsonValue(decoder *stdjson.Decoder, at origin, yield func(piece) bool) (more bool, err error) {
	token, err := decoder.Token()
	if err != nil {
		return false, err
	}
	if token != stdjson.Delim('{') {
		return false, errors.New("not an object")
	}
	rest := map[string]stdjson.RawMessage{}
	isList := false
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return false, inTheMiddle(err)
		}
		if _, twice := rest[key.(string)]; twice || key == "items" && isList {
			return false, fmt.Errorf("the key %q is given twice", key)
		}
		if key == "items" {
			var more bool
			isList, more, err = jsonItems(decoder, at, rest, yield)
			if err != nil || !more {
				return more, inTheMiddle(err)
			}
			continue
		}
		var value stdjson.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return false, inTheMiddle(err)
		}
		rest[key.(string)] = value
	}
	if _, err := decoder.Token(); err != nil {
		return false, inTheMiddle(err)
	}
	text, err := stdjson.Marshal(rest)
	return err == nil && yield(piece{at: at, text: text, json: true, around: isList}), err
}

// jsonItems reads the value behind the key "items": item by item if it is a list, otherwise into rest.
func jsonItems(decoder *stdjson.Decoder, at origin, rest map[string]stdjson.RawMessage, yield func(piece) bool) (isList, more bool, err error) {
	token, err := decoder.Token()
	if err != nil {
		return false, false, err
	}
	if token == nil {
		return true, true, nil // null is what Go writes for a list without items
	}
	if token != stdjson.Delim('[') {
		// No list, so no Kubernetes list either: what is inside does not matter.
		if token == stdjson.Delim('{') {
			err = skipTo(decoder, '}')
		}
		rest["items"] = stdjson.RawMessage("0")
		return false, true, err
	}
	for at.item = 1; decoder.More(); at.item++ {
		var item stdjson.RawMessage
		if err := decoder.Decode(&item); err != nil {
			return true, false, err
		}
		if !yield(piece{at: at, text: item, json: true}) {
			return true, false, nil
		}
	}
	_, err = decoder.Token()
	return true, true, err
}

// skipTo reads on to the end of an object that has been opened.
func skipTo(decoder *stdjson.Decoder, end rune) error {
	for depth := 1; depth > 0; {
		token, err := decoder.Token()
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

// inTheMiddle is the error for input that ends inside a value.
func inTheMiddle(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// wholeDocument is the size up to which a YAML document is read as a whole: then an alias may refer to an
// anchor in another item of the same list. Of larger ones, dumps of clusters, the items are read one by one.
var wholeDocument = 1 << 20

func yamlPieces(name string, r *bufio.Reader, yield func(piece) bool) {
	at := origin{file: name, document: 1}
	d := yamlDocument{at: at, yield: yield}
	for {
		line, err := r.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			yield(piece{at: d.at, err: fmt.Errorf("%s", fileError(err))})
			return
		}
		separates := bytes.HasPrefix(line, []byte("---")) && (len(bytes.TrimRight(line, " \t\r\n")) == 3 || line[3] == ' ')
		if separates || err != nil {
			if err != nil {
				d.add(line)
			}
			if !d.end() || err != nil {
				return
			}
			at.document++
			d = yamlDocument{at: at, yield: yield}
			if separates && len(line) > 4 {
				d.add(line[4:]) // "--- # comment", "--- {kind: Node}"
			}
			continue
		}
		if !d.add(line) {
			return
		}
	}
}

// yamlDocument takes in one YAML document line by line.
type yamlDocument struct {
	at    origin
	yield func(piece) bool
	// text is what was taken in and not handed on.
	text []byte
	// around is the text outside of the items, once the items are read one by one.
	around []byte
	// items: the lines are those of the list of items; dash is what each item begins with.
	streaming, items bool
	dash             []byte
	stopped          bool
	// cut: the last line has no end.
	cut bool
}

// add takes in a line. It is false when the reader wants no more.
func (d *yamlDocument) add(line []byte) bool {
	if content := bytes.TrimRight(line, " \t\r\n"); len(content) > 0 {
		// What is in brackets is whole.
		last := content[len(content)-1]
		d.cut = line[len(line)-1] != '\n' && last != '}' && last != ']'
	}
	switch {
	case !d.streaming:
		d.text = append(d.text, line...)
		if len(d.text) > wholeDocument {
			text := d.text
			d.text, d.streaming = nil, true
			for l := range bytes.Lines(text) {
				d.line(l)
			}
		}
	default:
		d.line(line)
	}
	return !d.stopped
}

// line takes in a line of a document whose items are read one by one. The items of a list in
// block style begin with a dash, all in one column, and end at the first line that is indented less.
func (d *yamlDocument) line(line []byte) {
	content := bytes.TrimSpace(line)
	blank := len(content) == 0 || content[0] == '#'
	indent := len(line) - len(bytes.TrimLeft(line, " "))
	switch {
	case !d.items:
		d.around = append(d.around, line...)
		if bytes.Equal(bytes.TrimRight(line, " \t\r\n"), []byte("items:")) {
			d.items, d.dash = true, nil
		}
	case d.dash == nil && !blank:
		if !bytes.HasPrefix(line[indent:], []byte("-")) {
			// Not a list in block style.
			d.items = false
			d.around = append(d.around, line...)
			return
		}
		// The list is not empty as it stands now; what is around it says so.
		d.around = append(bytes.TrimRight(d.around, " \t\r\n"), " []\n"...)
		d.dash = append(bytes.Clone(line[:indent]), '-')
		d.item(line)
	case !blank && bytes.HasPrefix(line, d.dash) && bytes.ContainsAny(line[len(d.dash):len(d.dash)+1], " \r\n"):
		d.flush()
		d.item(line)
	case !blank && d.dash != nil && indent < len(d.dash):
		d.flush()
		d.items = false
		d.around = append(d.around, line...)
	default:
		d.text = append(d.text, line...)
	}
}

// item begins an item: a space in the place of its dash makes a document of it.
func (d *yamlDocument) item(line []byte) {
	d.at.item++
	begin := len(d.text)
	d.text = append(d.text, line...)
	d.text[begin+len(d.dash)-1] = ' '
}

func (d *yamlDocument) flush() {
	if len(d.text) > 0 && d.at.item > 0 && !d.stopped {
		d.stopped = !d.yield(piece{at: d.at, text: bytes.Clone(d.text)})
	}
	d.text = d.text[:0]
}

// end is the end of the document. It is false when the reader wants no more.
func (d *yamlDocument) end() bool {
	if d.streaming {
		d.flush()
		d.text = d.around
	}
	if d.stopped {
		return false
	}
	around := d.at.item > 0
	d.at.item = 0
	return d.yield(piece{at: d.at, text: d.text, around: around, cut: d.cut})
}

// asJSON is the text of a piece as JSON.
func (p piece) asJSON() ([]byte, error) {
	if p.json {
		return p.text, nil
	}
	if err := expands(p.text); err != nil {
		return nil, fmt.Errorf("not YAML: %s", oneLine(err.Error()))
	}
	// Strict: of a key that is given twice nobody can say which one counts.
	raw, err := yaml.YAMLToJSONStrict(p.text)
	if err != nil {
		return nil, fmt.Errorf("not YAML: %s", oneLine(err.Error()))
	}
	return raw, nil
}
