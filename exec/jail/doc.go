// Package jail starts pid 1 of a sandbox in namespaces of its own and builds
// the world that it and its commands see.
package jail
