package guest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"
	"syscall"

	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// envelope is around every answer of the AIO API.
type envelope struct {
	Success bool    `json:"success"`
	Message string  `json:"message"`
	Data    any     `json:"data"`
	Hint    *string `json:"hint"`
	// Error is ours: the typed error, for our own client.
	Error *wireError `json:"error,omitempty"`
}

const messageOK = "Operation successful"

// fileOperationError is AIO's account of a failed file call.
type fileOperationError struct {
	Path          string  `json:"path"`
	Operation     string  `json:"operation"`
	Message       string  `json:"message"`
	ErrorType     string  `json:"error_type"`
	Retryable     bool    `json:"retryable"`
	Errno         *int    `json:"errno"`
	ErrnoName     *string `json:"errno_name"`
	ExceptionType *string `json:"exception_type"`
}

func (s *server) writeOK(w http.ResponseWriter, data any) {
	s.writeJSON(w, http.StatusOK, envelope{Success: true, Message: messageOK, Data: data})
}

// writeFileFailure answers a failed AIO file call with a 4xx envelope: a
// client that does not look at "success" fails too, and none sends the call
// again.
func (s *server) writeFileFailure(w http.ResponseWriter, p string, err error) {
	s.logInternal(err)
	e := provider.FromErrno("", p, err)
	data := fileOperationError{Path: p, Operation: e.Op, Message: e.Error(), ErrorType: errorType(e), Retryable: e.Kind == provider.Unavailable || e.Kind == provider.Conflict}
	errno := e.Kind.Errno()
	var cause syscall.Errno
	if errors.As(err, &cause) {
		errno = cause
	}
	number, name, exception := int(errno), unix.ErrnoName(errno), exceptionType(errno)
	data.Errno, data.ErrnoName, data.ExceptionType = &number, &name, &exception
	body := envelope{Message: e.Error(), Data: data, Error: toWire(e)}
	if e.Next != "" {
		body.Hint = &e.Next
	}
	s.writeJSON(w, aioStatus(e.Kind), body)
}

// aioStatus keeps below 500, which clients answer by repeating the call.
func aioStatus(k provider.Kind) int {
	switch status := k.HTTPStatus(); {
	case k == provider.Quota:
		return http.StatusConflict
	case status >= 500:
		return http.StatusBadRequest
	default:
		return status
	}
}

// errorType is AIO's name for an error.
func errorType(e *provider.Error) string {
	if errors.Is(e, errDecode) {
		return "decode_error"
	}
	switch e.Kind {
	case provider.NotFound:
		return "not_found"
	case provider.Denied:
		return "permission_denied"
	case provider.Exists:
		return "already_exists"
	case provider.ReadOnlyFS:
		return "read_only_filesystem"
	case provider.Quota:
		return "no_space_left"
	case provider.Invalid:
		if !path.IsAbs(e.Path) || strings.ContainsRune(e.Path, 0) {
			return "invalid_path"
		}
		return "invalid_target"
	}
	return "io_error"
}

// exceptionType is what a server in Python would have raised.
func exceptionType(errno syscall.Errno) string {
	switch errno {
	case syscall.ENOENT:
		return "FileNotFoundError"
	case syscall.EACCES, syscall.EPERM:
		return "PermissionError"
	case syscall.EISDIR:
		return "IsADirectoryError"
	case syscall.ENOTDIR:
		return "NotADirectoryError"
	case syscall.EEXIST:
		return "FileExistsError"
	}
	return "OSError"
}

// errDecode marks a file that is not text.
var errDecode = errors.New("not UTF-8")

// maxAIOBody bounds the body of an AIO call: a file's content in base64.
const maxAIOBody = 2 * provider.MaxWriteFile

// validationDetail is one complaint about a request's body.
type validationDetail struct {
	Loc  []any  `json:"loc"`
	Msg  string `json:"msg"`
	Type string `json:"type"`
}

// decodeAIO reads a request's body; on failure it has answered 422. Unknown
// fields are ignored, null counts as absent.
func (s *server) decodeAIO(w http.ResponseWriter, r *http.Request, into any, required ...string) bool {
	complain := func(field, msg, kind string) bool {
		loc := []any{"body"}
		if field != "" {
			loc = append(loc, field)
		}
		s.writeJSON(w, http.StatusUnprocessableEntity, map[string][]validationDetail{"detail": {{Loc: loc, Msg: msg, Type: kind}}})
		return false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAIOBody))
	if err != nil {
		return complain("", "the body is too long, or broke off", "value_error")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return complain("", "JSON decode error", "json_invalid")
	}
	for _, name := range required {
		if raw, ok := fields[name]; !ok || string(raw) == "null" {
			return complain(name, "Field required", "missing")
		}
	}
	if err := json.Unmarshal(body, into); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return complain(wrong.Field, "Input should be a valid "+wrong.Type.String(), wrong.Type.Kind().String()+"_type")
		}
		return complain("", "the body does not fit", "value_error")
	}
	return true
}

// handleUnknown answers what is no route of ours.
func (s *server) handleUnknown(w http.ResponseWriter, r *http.Request) {
	hint := "GET " + routeSandbox + " tells what this server is"
	s.writeJSON(w, http.StatusNotFound, envelope{Message: "Not Found: " + r.Method + " " + cleanText(r.URL.Path), Hint: &hint})
}
