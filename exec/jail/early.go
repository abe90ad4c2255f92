package jail

// This file runs as pid 1 of the sandbox, before anything untrusted does.

import "os"

// Early is a process that pid 1 has started before it executed itself again.
type Early struct {
	Pid    int
	Socket *os.File // to the process; the caller closes it
}
