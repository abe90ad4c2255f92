// Runs in the sandbox, usually as its pid 1.

package guest

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/sandboxfs/sandboxfs/exec"
	"github.com/sandboxfs/sandboxfs/exec/shell"
	"github.com/sandboxfs/sandboxfs/guest/file"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sirupsen/logrus"
)

// ServerOptions configure a guest. Executor is required.
type ServerOptions struct {
	// Executor runs the commands. Serve does not close it.
	Executor *exec.Executor
	// Identity is what status answers; Isolation in it is passed on.
	Identity provider.Info
	// Workdir is where a command starts that names no directory; empty means
	// /mnt/user-data/workspace.
	Workdir string
	// Home is $HOME; empty means Workdir.
	Home string
	// DownloadRoot is the only directory from which downloads are answered;
	// empty means /mnt/user-data.
	DownloadRoot string
	// Shell runs scripts and sessions; empty means bash, or sh where there is
	// none. One that is not called bash is taken for a POSIX shell.
	Shell string
	// Env is added to the allow-list of variables, and wins over it.
	Env map[string]string
	// IdleTimeout ends the guest when no command ran and no call was made
	// for so long; 0 means never.
	IdleTimeout time.Duration
	// Log gets what goes wrong; nil means nowhere.
	Log logrus.FieldLogger
}

// Limits of one connection.
const (
	headerTimeout  = 10 * time.Second
	keepAlive      = 5 * time.Minute
	maxHeaderBytes = 64 << 10
	// shutdownLimit is how long calls under way may take when the guest
	// ends; commands are ended at once.
	shutdownLimit = 5 * time.Second
)

// Serve answers calls until the context ends, a client stops the guest, or it
// was idle too long; then it ends the commands that still run, waits for all
// its goroutines and returns nil. It closes the listener. An error means that
// the listener failed.
func Serve(ctx context.Context, ln net.Listener, o ServerOptions) error {
	if o.Executor == nil {
		return errors.New("guest: ServerOptions.Executor is required")
	}
	return serve(ctx, ln, o, executorLauncher{o.Executor})
}

func serve(ctx context.Context, ln net.Listener, o ServerOptions, l launcher) error {
	s := newServer(o, l)
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s.endCommands = cancel
	h := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       keepAlive,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          log.New(logWriter{s.log}, "", 0),
	}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(ln) }()

	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	case <-s.activity.ended:
	case <-s.activity.idle(o.IdleTimeout):
	}
	s.activity.drain()
	cancel()
	stop, done := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
	defer done()
	if h.Shutdown(stop) != nil {
		h.Close()
	}
	s.activity.wait(stop)
	s.sessions.closeAll()
	s.activity.close()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// server is the state of one guest.
type server struct {
	o        ServerOptions
	log      logrus.FieldLogger
	launch   launcher
	files    *file.Files
	activity *activity
	base     environment
	sessions *sessions
	// endCommands ends every command that runs.
	endCommands context.CancelFunc
}

func newServer(o ServerOptions, l launcher) *server {
	if o.Workdir == "" {
		o.Workdir = mapping.Workspace
	}
	if o.Home == "" {
		o.Home = o.Workdir
	}
	if o.DownloadRoot == "" {
		o.DownloadRoot = mapping.UserData
	}
	if o.Log == nil {
		silent := logrus.New()
		silent.SetOutput(discard{})
		o.Log = silent
	}
	s := &server{o: o, log: o.Log, launch: l, files: file.New(), activity: newActivity(time.Now), base: baseEnvironment(o)}
	s.sessions = newSessions(
		shell.Options{Executor: o.Executor, Path: s.base.shell, Dir: s.defaultDir},
		func(extra map[string]string) []string { return s.base.of(provider.Command{Script: ":", Env: extra}) },
		time.Now)
	s.activity.jobs = func() int {
		_, jobs := s.sessions.count()
		return jobs
	}
	return s
}

// handler routes the calls. Every one of them counts as activity, but for
// those that only look at the guest itself.
func (s *server) handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET "+routeStatus, s.handleStatus)
	m.HandleFunc("POST "+routeStop, s.handleStop)
	m.HandleFunc("GET "+routeSandbox, s.handleSandbox)
	m.HandleFunc("GET "+routeSessions, s.handleSessions)
	m.HandleFunc("GET "+routeJobs, s.handleJobs)
	for pattern, h := range map[string]http.HandlerFunc{
		"POST " + routeExec:        s.handleExec,
		"DELETE " + routeSessions:  s.handleCloseSession,
		"DELETE " + routeJobs:      s.handleStopJob,
		"GET " + routeRead:         s.handleRead,
		"POST " + routeWrite:       s.handleWrite,
		"POST " + routeReplace:     s.handleReplace,
		"GET " + routeList:         s.handleList,
		"GET " + routeGlob:         s.handleGlob,
		"GET " + routeGrep:         s.handleGrep,
		"POST " + routeAIORead:     s.handleAIORead,
		"POST " + routeAIOWrite:    s.handleAIOWrite,
		"POST " + routeAIOReplace:  s.handleAIOReplace,
		"POST " + routeAIOFind:     s.handleAIOFind,
		"POST " + routeAIOList:     s.handleAIOList,
		"POST " + routeAIOGrep:     s.handleAIOGrep,
		"GET " + routeAIODownload:  s.handleDownload,
		"HEAD " + routeAIODownload: s.handleDownload,
	} {
		m.HandleFunc(pattern, s.active(h))
	}
	m.HandleFunc("/", s.handleUnknown)
	return s.recovered(m)
}

// active counts a call as activity, and refuses it when the guest is ending.
func (s *server) active(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		leave, ok := s.activity.enter()
		if !ok {
			w.Header().Set("Connection", "close")
			s.writeError(w, errEnding())
			return
		}
		defer leave()
		next(w, r)
	}
}

// errEnding is the answer of a guest that takes no more.
func errEnding() error {
	return &provider.Error{Kind: provider.Unavailable, Op: "call the sandbox", Reason: "the sandbox is just ending", Next: "acquire it again", Err: ErrNotStarted}
}

// recovered turns a panic into a 500 and a log line; other calls go on.
func (s *server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { //nolint:errorlint // a panic value, compared as net/http does
				panic(p)
			}
			s.log.WithFields(logrus.Fields{"op": r.URL.Path, "panic": p, "stack": string(debug.Stack())}).Error("a call failed inside the guest")
			s.writeError(w, &provider.Error{Kind: provider.Internal, Op: "call the sandbox", Reason: "the guest failed; its log says more"})
		}()
		next.ServeHTTP(w, r)
	})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// logWriter passes on what net/http has to say.
type logWriter struct{ log logrus.FieldLogger }

func (l logWriter) Write(p []byte) (int, error) {
	l.log.WithField("op", "serve").Warn(string(p))
	return len(p), nil
}
