package guest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sandboxfs/sandboxfs/exec/shell"
	"github.com/sandboxfs/sandboxfs/provider"
)

// handleExec runs a command over an upgraded connection.
//
// The request's body is the command (wireCommand). What is wrong with it is
// answered as HTTP. Then comes 101, and only then does the command start: who
// saw the connection end before the 101 knows that nothing ran. Frames follow:
//
//	client: Stdin (within the window), StdinEOF, Signal, Resize, Cancel
//	server: Started, then Stdout, Stderr, Window, Ping in any order, then
//	        the captured streams, then Ended; or Failed at any time
//
// The server ends the command when the client hangs up or cancels. It sends a
// Ping when it had nothing else to say for some time, so that a client tells
// a quiet command from a dead sandbox.
func (s *server) handleExec(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != execProtocol {
		w.Header().Set("Upgrade", execProtocol)
		s.writeJSON(w, http.StatusUpgradeRequired, errorBody{toWire(&provider.Error{Kind: provider.Invalid, Op: opExecute, Reason: "this route needs Upgrade: " + execProtocol})})
		return
	}
	var wire wireCommand
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCommand)).Decode(&wire); err != nil {
		s.writeError(w, &provider.Error{Kind: provider.Invalid, Op: opExecute, Reason: "the command is not JSON, or more than 16 MiB", Next: "put large data into a file", Err: err})
		return
	}
	c := wire.command()
	x, err := s.prepare(c, wire.Stdin)
	if err != nil {
		s.writeError(w, err)
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.writeError(w, &provider.Error{Kind: provider.Internal, Op: opExecute, Reason: "the connection cannot be upgraded", Err: err})
		return
	}
	defer conn.Close()
	if err := upgrade(conn); err != nil {
		return // nothing ran
	}
	st := newStream(s, conn, bufferedReader(conn, rw.Reader), &wire, timeoutOf(c))
	st.counted = sync.OnceFunc(s.activity.command())
	defer st.counted()
	if c.Session == "" {
		st.run(r.Context(), func(ctx context.Context) (process, error) { return s.launch.start(ctx, x) })
		return
	}
	st.runQueued(r.Context(), func(ctx context.Context) (process, error) {
		return s.sessions.start(ctx, c.Session, sessionCommand{
			Command: shell.Command{Text: c.Script, Dir: c.Dir, Env: c.Env, Stdin: wire.Stdin}, env: fromWireEnv(wire.SessionEnv),
		})
	})
}

// upgrade accepts, and takes away the deadlines of net/http.
func upgrade(conn net.Conn) error {
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	_, err := fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", execProtocol)
	return err
}

// bufferedReader keeps what net/http already read from the connection.
func bufferedReader(conn net.Conn, r *bufio.Reader) *bufio.Reader {
	if r.Buffered() > 0 {
		return r
	}
	return bufio.NewReaderSize(conn, 8<<10)
}
