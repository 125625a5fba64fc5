package main

import "os"

// wantsColour is true for a terminal, unless NO_COLOR is set or the terminal is a dumb one.
func wantsColour(out *os.File, env func(string) (string, bool)) bool {
	if _, set := env("NO_COLOR"); set {
		return false
	}
	if term, _ := env("TERM"); term == "" || term == "dumb" {
		return false
	}
	return isTerminal(out)
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// isPiped reports whether somebody hands input in: a pipe or a file.
func isPiped(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && (info.Mode()&os.ModeNamedPipe != 0 || info.Mode().IsRegular())
}

// palette paints text, or leaves it as it is.
type palette bool

func (p palette) paint(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p palette) core(s string) string    { return p.paint("1;36", s) }
func (p palette) object(s string) string  { return p.paint("1", s) }
func (p palette) action(s string) string  { return p.paint("32", s) }
func (p palette) notice(s string) string  { return p.paint("33", s) }
func (p palette) failure(s string) string { return p.paint("31", s) }
func (p palette) faint(s string) string   { return p.paint("2", s) }
