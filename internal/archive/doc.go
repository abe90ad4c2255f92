// Package archive turns what is copied into a tar archive and back, for copies
// through a pipe.
//
// It touches no file: what an archive names is put into a sink, which decides.
// An archive comes from anywhere, so a name that climbs out with ".." is
// refused here already, and nothing but files, directories, symlinks and links
// is ever put.
//
// Start with [Writer] and [Read]. Read next: package provider's CopySink.
package archive
