// Runs in the process that serves the mount.

package mounter

import (
	"os"
	"os/signal"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
	"golang.org/x/sys/unix"
)

// lookInterval is how often a server looks whether its mount is still in
// sight and whether it can be found.
const lookInterval = 10 * time.Second

// listen keeps the signals that the server is asked and ended by. One that
// comes before somebody waits for it is kept too, and not lost: a server that
// is asked in its first moment, while it still cleans up after its start, would
// look only at the next interval.
func listen() <-chan os.Signal {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, lookSignal)
	return signals
}

// wait returns when the connection has ended or the server is told to end.
func (s *server) wait(signals <-chan os.Signal) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.server.Wait()
	}()
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	for {
		select {
		case <-ended:
			s.log.Info("unmounted")
			s.over = true
			return
		case sig := <-signals:
			if sig == lookSignal {
				break
			}
			s.log.WithField("signal", sig.String()).Info("told to end")
			return
		case <-look.C:
		}
		if !s.look() {
			return
		}
	}
}

// look lets go of the mount's directory where the mount is in use but out of
// sight: unmounted lazily, or alive in another mount namespace alone. It
// returns false where nobody can find the mount any more.
func (s *server) look() bool {
	if s.alive == nil {
		return true
	}
	if !s.dir.Holds(s.alive) {
		s.log.Warn("the runtime directory was removed; nobody can find this mount any more")
		return false
	}
	table, err := mountinfo.Read()
	if err != nil {
		return true
	}
	if _, ok := s.record.find(table); !ok {
		s.log.Info("out of sight; the server ends with the last user")
		s.release()
	}
	return true
}
