package guest

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/sandboxfs/sandboxfs/guest/frame"
)

// runQueued is run for a command that may have to wait before it starts. A client
// that hangs up, or says anything at all, takes it out of the queue: until
// Started it has nothing to say but that.
func (s *stream) runQueued(ctx context.Context, start func(context.Context) (process, error)) {
	s.run(ctx, func(ctx context.Context) (process, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			if _, err := s.in.Peek(1); err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
				cancel()
			}
		}()
		stop := make(chan struct{})
		go s.pingUntil(stop)
		p, err := start(ctx)
		close(stop)
		_ = s.conn.SetReadDeadline(time.Unix(1, 0))
		<-watched
		_ = s.conn.SetReadDeadline(time.Time{})
		return p, err
	})
}

// pingUntil tells a waiting client that the guest lives.
func (s *stream) pingUntil(stop <-chan struct{}) {
	t := time.NewTicker(pingEvery / 2)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			if s.send(frame.Ping, nil) != nil {
				return
			}
		}
	}
}
