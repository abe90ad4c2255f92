package file

// isTemp reports whether a name is that of a file being written by this
// package.
func isTemp(name string) bool {
	n := len(name)
	return n == len(tempPrefix)+16+len(tempSuffix) && name[:len(tempPrefix)] == tempPrefix && name[n-len(tempSuffix):] == tempSuffix
}
