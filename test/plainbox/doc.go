// Package plainbox is a provider whose sandboxes are plain directories: it
// confines nothing, needs no privilege and no program of ours, and has none of
// the abilities that a sandbox may lack: no live streams, no sessions. Suites
// for what works on any sandbox run over it, beside a real one.
//
// File calls take virtual paths. Commands run on the host, in the directory
// that stands for the workspace, and must name files relative to it.
package plainbox
