package audit

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// Types of records.
const (
	// TypeStart is written before a command starts, or instead of it when it is
	// blocked.
	TypeStart = "start"
	// TypeEnd is written when it has ended.
	TypeEnd = "end"
	// TypeSegment begins a file of the log.
	TypeSegment = "segment"
	// TypeRetention says which files were removed by age or size.
	TypeRetention = "retention"
	// TypeBreak says that the log was not as it had been left.
	TypeBreak = "break"
)

// Origins of a command.
const (
	// OriginTool is an agent that calls a tool.
	OriginTool = "tool"
	// OriginMCP is an agent over MCP.
	OriginMCP = "mcp"
	// OriginHTTP is a client of an HTTP interface.
	OriginHTTP = "http"
	// OriginPerson is somebody at the command line. What a person runs is
	// recorded and never blocked.
	OriginPerson = "person"
)

// Record is one line of the log. Which fields are set depends on its type.
type Record struct {
	// Seq counts the records of a log from 1, without a gap.
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Type string    `json:"type"`
	// Call is the same in the start and the end of one command.
	Call string `json:"call,omitempty"`

	// Of a start.
	Thread      string   `json:"thread,omitempty"`
	User        string   `json:"user,omitempty"`
	Sandbox     string   `json:"sandbox,omitempty"`
	Provider    string   `json:"provider,omitempty"`
	Origin      string   `json:"origin,omitempty"`
	Tool        string   `json:"tool,omitempty"`
	Session     string   `json:"session,omitempty"`
	Description string   `json:"description,omitempty"`
	Command     string   `json:"command,omitempty"`
	Argv        []string `json:"argv,omitempty"`
	Path        string   `json:"path,omitempty"`
	Arguments   string   `json:"arguments,omitempty"`
	// Cut says that Command or Argv was longer than [RecordedCommand].
	Cut      bool     `json:"cut,omitempty"`
	Verdict  *Verdict `json:"verdict,omitempty"`
	Rule     string   `json:"rule,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	Part     string   `json:"part,omitempty"`
	Unparsed bool     `json:"unparsed,omitempty"`
	// Blocked says that the command was not run: it has no end.
	Blocked bool `json:"blocked,omitempty"`

	// Of an end.
	Exit *int `json:"exit,omitempty"`
	// Signal is the number of the signal that ended the command.
	Signal   int   `json:"signal,omitempty"`
	TimedOut bool  `json:"timed_out,omitempty"`
	Millis   int64 `json:"duration_ms,omitempty"`
	// Bytes are what the command wrote, of both streams.
	Bytes     int64 `json:"bytes,omitempty"`
	Truncated bool  `json:"truncated,omitempty"`
	// Leftovers counts the processes that were ended with the command.
	Leftovers int `json:"leftovers,omitempty"`
	// Error says why the command was not run, or its end is not known.
	Error string `json:"error,omitempty"`

	// Of the log's own records.
	// Previous is the MAC before the first record of a segment.
	Previous string `json:"previous,omitempty"`
	// Through and ThroughMAC are the last record that was removed by age or
	// size.
	Through    uint64 `json:"through,omitempty"`
	ThroughMAC string `json:"through_mac,omitempty"`
	// Expected is where the log should have ended, as the head has it.
	Expected uint64 `json:"expected,omitempty"`
}

const (
	// RecordedCommand is how much of a command is recorded, in bytes.
	RecordedCommand = 64 << 10
	// RecordedText is how much of a description, a path or arguments is.
	RecordedText = 4 << 10
)

// NewCall returns an id for the two records of one command.
func NewCall() string {
	var b [12]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
