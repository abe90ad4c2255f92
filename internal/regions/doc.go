// Package regions finds and opens the host directories that stand behind a
// thread's virtual ones. It is what every server of a tree begins with: the
// keeper of a sandbox and the server of a mount.
//
// It decides nothing about views or access; that is package mapping's. It must
// never follow a link that an agent may have placed: what lies below the data
// directory is opened one component at a time.
//
// Read next: package mapping.
package regions
