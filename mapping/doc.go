// Package mapping says which host directory stands behind which virtual path.
//
// It is pure: tables, prefixes, identifiers and the layout of a thread on
// disk are computed here, and nothing is ever opened, created or looked up.
// Whoever opens a region's host directory (package fs, package local) does so
// once, by descriptor; no operation on a file joins a host path with a
// virtual one.
//
// Start with [Region] and [Table], then [Layout] for what a thread owns.
package mapping
