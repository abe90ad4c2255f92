package guest

import (
	"time"
	"unicode/utf8"

	"github.com/sandboxfs/sandboxfs/provider"
)

// The routes that are ours. Paths and patterns travel percent-encoded in the
// query, so that any byte of a name survives; contents are plain bodies.
const (
	routeStatus  = "/v1/sandboxfs/status"
	routeStop    = "/v1/sandboxfs/stop"
	routeExec    = "/v1/sandboxfs/exec"
	routeJobs    = "/v1/sandboxfs/jobs"
	routeRead    = "/v1/sandboxfs/file/read"
	routeWrite   = "/v1/sandboxfs/file/write"
	routeReplace = "/v1/sandboxfs/file/replace"
	routeList    = "/v1/sandboxfs/file/list"
	routeGlob    = "/v1/sandboxfs/file/glob"
	routeGrep    = "/v1/sandboxfs/file/grep"

	routeSessions = "/v1/sandboxfs/sessions"
)

// The routes of the AIO API.
const (
	routeSandbox     = "/v1/sandbox"
	routeAIORead     = "/v1/file/read"
	routeAIOWrite    = "/v1/file/write"
	routeAIOReplace  = "/v1/file/replace"
	routeAIOFind     = "/v1/file/find"
	routeAIOList     = "/v1/file/list"
	routeAIOGrep     = "/v1/file/grep"
	routeAIODownload = "/v1/file/download"
)

// execProtocol is the Upgrade token of the exec route.
const execProtocol = "sandboxfs-exec/1"

// Bounds of the exec stream.
const (
	// stdinWindow is how much of stdin may be on its way, so that a command
	// that does not read never delays a signal.
	stdinWindow = 256 << 10
	// pingEvery is the time after which the server sends a sign of life.
	pingEvery = 10 * time.Second
	// silenceLimit is how long the client waits for one.
	silenceLimit = 45 * time.Second
	// maxCommand bounds the description of a command, in bytes on the wire.
	maxCommand = 16 << 20
)

// Bounds of the other calls.
const (
	// maxAnswer bounds a JSON answer that the client accepts.
	maxAnswer = 64 << 20
	// maxReplaceBody bounds the body of a replacement: two texts in base64.
	maxReplaceBody = 3 * provider.MaxWriteFile
)

// wireCommand is a command on the wire. What can hold any byte is base64.
type wireCommand struct {
	Argv      [][]byte          `json:"argv,omitempty"`
	Script    []byte            `json:"script,omitempty"`
	Dir       []byte            `json:"dir,omitempty"`
	Env       map[string][]byte `json:"env,omitempty"`
	Stdin     bool              `json:"stdin,omitempty"`
	TTY       *wireTTY          `json:"tty,omitempty"`
	TimeoutMS int64             `json:"timeout_ms,omitempty"`
	MaxOutput int64             `json:"max_output,omitempty"`
	// CaptureStdout and CaptureStderr say which streams are bounded in the
	// guest and sent when the command has ended; the others are live.
	CaptureStdout bool   `json:"capture_stdout,omitempty"`
	CaptureStderr bool   `json:"capture_stderr,omitempty"`
	Session       string `json:"session,omitempty"`
	// SessionEnv is added to the environment of a session that this command
	// makes.
	SessionEnv map[string][]byte `json:"session_env,omitempty"`
}

// wireSessions and wireJobs are the answers of the listing routes.
type wireSessions struct {
	Sessions []provider.SessionInfo `json:"sessions"`
}

type wireJobs struct {
	Jobs []provider.Job `json:"jobs"`
}

type wireTTY struct {
	Term string `json:"term,omitempty"`
	Rows uint16 `json:"rows,omitempty"`
	Cols uint16 `json:"cols,omitempty"`
}

func toWireCommand(c provider.Command) *wireCommand {
	w := &wireCommand{
		Script: []byte(c.Script), Dir: []byte(c.Dir), Stdin: c.Stdin != nil,
		TimeoutMS: millis(c.Timeout), MaxOutput: c.MaxOutput, Session: c.Session,
	}
	for _, a := range c.Argv {
		w.Argv = append(w.Argv, []byte(a))
	}
	w.Env = toWireEnv(c.Env)
	if c.TTY != nil {
		w.TTY = &wireTTY{Term: c.TTY.Term, Rows: c.TTY.Rows, Cols: c.TTY.Cols}
	}
	return w
}

func toWireEnv(env map[string]string) map[string][]byte {
	if len(env) == 0 {
		return nil
	}
	w := make(map[string][]byte, len(env))
	for k, v := range env {
		w[k] = []byte(v)
	}
	return w
}

func fromWireEnv(w map[string][]byte) map[string]string {
	if len(w) == 0 {
		return nil
	}
	env := make(map[string]string, len(w))
	for k, v := range w {
		env[k] = string(v)
	}
	return env
}

// millis rounds away from zero, so that a tiny timeout is not none.
func millis(d time.Duration) int64 {
	switch {
	case d > 0:
		return int64((d + time.Millisecond - 1) / time.Millisecond)
	case d < 0:
		return -1
	}
	return 0
}

func (w *wireCommand) command() provider.Command {
	c := provider.Command{
		Script: string(w.Script), Dir: string(w.Dir),
		Timeout: time.Duration(w.TimeoutMS) * time.Millisecond, MaxOutput: w.MaxOutput, Session: w.Session,
	}
	for _, a := range w.Argv {
		c.Argv = append(c.Argv, string(a))
	}
	c.Env = fromWireEnv(w.Env)
	if w.TTY != nil {
		c.TTY = &provider.TTY{Term: w.TTY.Term, Rows: w.TTY.Rows, Cols: w.TTY.Cols}
	}
	return c
}

// wireResult is how a command ended; captured streams came before it.
type wireResult struct {
	ExitCode      int   `json:"exit_code"`
	Signal        int   `json:"signal,omitempty"`
	TimedOut      bool  `json:"timed_out,omitempty"`
	LeftRunning   int   `json:"left_running,omitempty"`
	DurationNS    int64 `json:"duration_ns"`
	StdoutOmitted int64 `json:"stdout_omitted,omitempty"`
	StderrOmitted int64 `json:"stderr_omitted,omitempty"`

	Session *provider.SessionChange `json:"session,omitempty"`
}

// wireStatus is the answer of the status route.
type wireStatus struct {
	Version string        `json:"version"`
	Info    provider.Info `json:"info"`
	// Busy counts calls and commands under way.
	Busy int `json:"busy"`
}

// wireStop is the body of the stop route.
type wireStop struct {
	When string `json:"when"` // "now" or "idle"
}

// wirePath is one path in an answer. Raw is set instead of the string where
// that is not UTF-8.
type wirePath struct {
	Path string `json:"path,omitempty"`
	Raw  []byte `json:"raw,omitempty"`
}

func toWirePath(p string) wirePath {
	if utf8.ValidString(p) {
		return wirePath{Path: p}
	}
	return wirePath{Raw: []byte(p)}
}

func (w wirePath) text() string {
	if len(w.Raw) > 0 {
		return string(w.Raw)
	}
	return w.Path
}
