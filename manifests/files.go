package manifests

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

// hostFiles are the machine's files under the names that a shell user writes: absolute,
// relative, with "..". os.DirFS would refuse most of them.
type hostFiles struct{}

func (hostFiles) Open(name string) (fs.File, error) { return os.Open(name) }

// Stat does not open the file: who writes into a named pipe would find it closed.
func (hostFiles) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// readFiles reads the manifests of a file, or of a folder and the folders in it in the order
// of their names.
func (l *loader) readFiles(name string) {
	files := l.o.Files
	if files == nil {
		files = hostFiles{}
	}
	found := false
	// Errors are of one file or directory. The others are read.
	_ = fs.WalkDir(files, name, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			found = true
			l.unread(at, fileError(err))
			return nil
		case at != name && strings.HasPrefix(entry.Name(), "."):
			// Hidden, as .git is: not a manifest.
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		case at != name && entry.Type()&fs.ModeSymlink != 0 && isDirectory(files, at):
			// It is not followed, since links may lead in a circle. What is in it may matter.
			l.unread(at, "a link to a directory is not followed: name the directory, too")
			return nil
		case at != name && !isManifest(at):
			return nil
		}
		found = true
		file, err := files.Open(at)
		if err == nil {
			l.read(at, file)
			err = file.Close()
		}
		if err != nil {
			l.unread(at, fileError(err))
		}
		return nil
	})
	if !found {
		l.unread(name, "no file that ends in .yaml, .yml or .json, or one of these with .gz")
	}
}

func isDirectory(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	return err == nil && info.IsDir()
}

func isManifest(name string) bool {
	switch path.Ext(strings.TrimSuffix(name, ".gz")) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// fileError is the cause alone: the message already has the name of the file.
func fileError(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
