// Package frame is the form of a command's stream between the guest and its
// client: one connection, many small messages, each a type, a length and a
// payload. Bytes are carried as they are.
//
// It must never interpret a payload, allocate by a length that it did not
// check, or block for any reason but its reader or writer. What the messages
// mean, and in which order they come, is in package guest (exec.go there is
// the server's half, client_process.go the client's).
package frame
