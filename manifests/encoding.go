package manifests

import (
	"bufio"
	"bytes"
	"errors"
)

// byteOrderMark begins a file in UTF-8 that some programs on Windows write. It is no part of the text.
var byteOrderMark = []byte("\ufeff")

// errUTF16 says what to do: line ends and separators cannot be found in UTF-16.
var errUTF16 = errors.New("is UTF-16: must be UTF-8, which PowerShell writes with Out-File -Encoding utf8")

// skipByteOrderMark skips the byte order mark of UTF-8. The mark of UTF-16 is an error.
func skipByteOrderMark(r *bufio.Reader) error {
	// Shorter input has no mark. What else is wrong with the reader, its next user finds.
	if head, _ := r.Peek(2); bytes.Equal(head, []byte{0xff, 0xfe}) || bytes.Equal(head, []byte{0xfe, 0xff}) {
		return errUTF16
	}
	if head, _ := r.Peek(len(byteOrderMark)); bytes.Equal(head, byteOrderMark) {
		_, err := r.Discard(len(byteOrderMark))
		return err
	}
	return nil
}
