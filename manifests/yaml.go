package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// wholeDocument is the size up to which a YAML document is read as a whole: then an alias may refer to an
// anchor in another item of the same list. Of larger ones, dumps of clusters, the items are read one by one.
var wholeDocument = 1 << 20

func yamlPieces(name string, r *bufio.Reader, yield func(piece) bool) {
	at := Ref{File: name, Document: 1}
	d := yamlDocument{at: at, yield: yield}
	afterDots := false // a line of dots is before d
	for number := 1; ; number++ {
		line, err := r.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			yield(piece{at: d.at, err: fmt.Errorf("%s", fileError(err))})
			return
		}
		rest, separates := separates(line)
		switch {
		case separates || ends(line):
			// Between dots and dashes there is no document.
			if !afterDots || d.begins > 0 {
				if !d.end() {
					return
				}
				at.Document++
			}
			d, afterDots = yamlDocument{at: at, yield: yield, number: number}, !separates
			if len(rest) > 0 {
				d.number--
				d.add(rest)
			}
		case d.begins == 0:
			d.add(bytes.TrimPrefix(line, byteOrderMark))
		default:
			d.add(line)
		}
		if err != nil {
			d.end()
		}
		if err != nil || d.stopped {
			return
		}
	}
}

// yamlDocument takes in one YAML document line by line.
type yamlDocument struct {
	at    Ref
	yield func(piece) bool
	// text is what was taken in and not handed on.
	text []byte
	// around is the text outside of the items, once the items are read one by one.
	around []byte
	// streaming: the items are read one by one. items: the lines belong to the list of items; dash is what each item
	// begins with.
	streaming, items bool
	dash             []byte
	stopped          bool
	// cut: the last line has no end.
	cut bool
	// number counts the lines of the file. The others are numbers of lines: the first one, the first one that is not
	// blank, and the one with the dash of the item.
	number, first, begins, itemBegins int
}

// add takes in a line. Afterwards, stopped says that the reader wants no more.
func (d *yamlDocument) add(line []byte) {
	if content := bytes.TrimRight(line, " \t\r\n"); len(content) > 0 {
		// What is in brackets is whole.
		last := content[len(content)-1]
		d.cut = line[len(line)-1] != '\n' && last != '}' && last != ']'
	}
	switch {
	case !d.streaming:
		d.number++
		if len(d.text) == 0 {
			d.first = d.number
		}
		if d.begins == 0 && !blank(line) {
			d.begins = d.number
		}
		d.text = append(d.text, line...)
		if len(d.text) > wholeDocument {
			text := d.text
			d.text, d.streaming, d.number = nil, true, d.first-1
			for l := range bytes.Lines(text) {
				d.line(l)
			}
		}
	default:
		d.line(line)
	}
}

// line takes in a line of a document whose items are read one by one. The items of a list in
// block style begin with a dash, all in one column, and end at the first line that is indented less.
func (d *yamlDocument) line(line []byte) {
	d.number++
	blank := blank(line)
	if d.begins == 0 && !blank {
		d.begins = d.number
	}
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
		// The items were cut out of the document, so its text around them gets an empty list.
		d.around = append(bytes.TrimRight(d.around, " \t\r\n"), " []\n"...)
		d.dash = append(bytes.Clone(line[:indent]), '-')
		d.item(line)
	case !blank && isItem(line, d.dash):
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

// blank: the line has nothing but space or a comment.
func blank(line []byte) bool {
	content := bytes.TrimSpace(line)
	return len(content) == 0 || content[0] == '#'
}

// isItem reports whether the line begins with the dash of an item.
func isItem(line, dash []byte) bool {
	rest, found := bytes.CutPrefix(line, dash)
	return found && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \r\n"))
}

// item begins an item: a space in the place of its dash makes a document of it.
func (d *yamlDocument) item(line []byte) {
	d.at.Item++
	d.itemBegins = d.number
	begin := len(d.text)
	d.text = append(d.text, line...)
	d.text[begin+len(d.dash)-1] = ' '
}

func (d *yamlDocument) flush() {
	if len(d.text) > 0 && d.at.Item > 0 && !d.stopped {
		d.at.Line = d.itemBegins
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
	around := d.at.Item > 0
	d.at.Item, d.at.Line = 0, d.begins
	return d.yield(piece{at: d.at, text: d.text, around: around, cut: d.cut, first: d.first})
}
