package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Process is a program that runs until it is stopped. Its output goes to a file.
type Process struct {
	cmd   *exec.Cmd
	ended chan struct{}
	err   error
}

// StartProcess runs a program, and adds what it prints to the file log.
func StartProcess(log, program string, args ...string) (*Process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the program has it, too
	p := &Process{cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	// It ends with this program, however that ends, but not by a Ctrl-C that is meant for this program.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// PID of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Kill ends the process without a warning.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.ended
}

// stopPatience is how long a process has after SIGTERM.
const stopPatience = 30 * time.Second

// Stop asks the process to end, and waits for it. It is an error if it does not, or ends with a failure. A nil
// Process has ended.
func (p *Process) Stop() error {
	if p == nil {
		return nil
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopPatience):
		p.Kill()
		return fmt.Errorf("%s did not end within %s", filepath.Base(p.cmd.Path), stopPatience)
	}
	if state, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && state.Signaled() &&
		state.Signal() == syscall.SIGTERM {
		return nil // etcd ends itself with the signal
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(p.cmd.Path), p.err)
	}
	return nil
}
