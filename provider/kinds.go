package provider

import "syscall"

// kindRow is what the outside interfaces call one kind.
type kindRow struct {
	kind  Kind
	errno syscall.Errno
	http  int
	exit  int
	mcp   int
}

// kinds is the one table. Errnos are those of the system call that would have
// failed (errno(3)); HTTP statuses are RFC 9110's and, for quota, RFC 4918's;
// MCP codes are JSON-RPC's own where there is one, MCP's for a missing
// resource, and else numbers of ours in the range that JSON-RPC leaves to
// servers. A number is never reused for another meaning.
var kinds = [...]kindRow{
	{Invalid, syscall.EINVAL, 400, exitUsage, -32602},
	{NotFound, syscall.ENOENT, 404, exitFailed, -32002},
	{Exists, syscall.EEXIST, 409, exitFailed, -32010},
	{Denied, syscall.EACCES, 403, exitFailed, -32011},
	{ReadOnlyFS, syscall.EROFS, 403, exitFailed, -32012},
	{NotEmpty, syscall.ENOTEMPTY, 409, exitFailed, -32013},
	{TooLarge, syscall.EFBIG, 413, exitFailed, -32014},
	{Quota, syscall.EDQUOT, 507, exitFailed, -32015},
	{Timeout, syscall.ETIMEDOUT, 504, exitFailed, -32016},
	{Unavailable, syscall.EAGAIN, 503, exitFailed, -32017},
	{Conflict, syscall.EBUSY, 409, exitFailed, -32018},
	{Internal, syscall.EIO, 500, exitFailed, -32603},
}

// Exit codes of the verbs that do not run a command of the user's.
const (
	exitFailed = 1
	exitUsage  = 2
)

// Kinds returns every kind, in the order of their constants.
func Kinds() []Kind {
	all := make([]Kind, len(kinds))
	for i, row := range kinds {
		all[i] = row.kind
	}
	return all
}

// row finds a kind's row; a kind that is none of ours is an internal error.
func (k Kind) row() kindRow {
	for _, row := range kinds {
		if row.kind == k {
			return row
		}
	}
	return kinds[len(kinds)-1]
}

// Errno returns the errno of a system call that fails in this way.
func (k Kind) Errno() syscall.Errno { return k.row().errno }

// HTTPStatus returns the status of an HTTP answer. It is for a request that
// did nothing yet: clients send a request again after a 5xx, so once a command
// has started its answer is a 200 that tells how it ended.
func (k Kind) HTTPStatus() int { return k.row().http }

// ExitCode returns the exit status of a CLI verb that does not run a command
// of the user's: 2 for invalid, which is a usage error, else 1.
func (k Kind) ExitCode() int { return k.row().exit }

// CommandExitCode returns the exit status of a CLI verb that runs a command
// of the user's and failed itself: [ExitFailure] for every kind, so that it is
// told from the command's own statuses. [ExitTimeout] is not among them: a
// command that its timeout ended has a [Result].
func (k Kind) CommandExitCode() int { return ExitFailure }

// MCPCode returns the code of a JSON-RPC error.
func (k Kind) MCPCode() int { return k.row().mcp }

// KindOfHTTPStatus returns the kind behind a status that a server of another
// make answered: the closest one, where several kinds share the status.
func KindOfHTTPStatus(status int) Kind {
	switch status {
	case 401, 403:
		return Denied
	case 404, 410:
		return NotFound
	case 408, 504:
		return Timeout
	case 409:
		return Conflict
	case 413:
		return TooLarge
	case 429, 502, 503:
		return Unavailable
	case 507:
		return Quota
	}
	if status >= 400 && status < 500 {
		return Invalid
	}
	return Internal
}
