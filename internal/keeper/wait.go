package keeper

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// lookInterval is how often a keeper looks whether it can still be found.
const lookInterval = 10 * time.Second

// listen keeps a signal that comes before somebody waits for it.
func listen() <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	return signals
}

// wait returns when the sandbox has ended or is told to end.
func (k *keeper) wait(signals <-chan os.Signal) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := k.jail.Wait(); err != nil {
			k.log.WithError(err).Info("the sandbox ended")
		}
	}()
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	for {
		select {
		case <-ended:
			return
		case s := <-signals:
			k.log.WithField("signal", s.String()).Info("told to end")
		case <-look.C:
			if k.dir.Holds(k.alive) {
				continue
			}
			k.log.Warn("the runtime directory was removed; nobody can find this sandbox any more")
		}
		k.jail.Kill()
		<-ended
		return
	}
}
