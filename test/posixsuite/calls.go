package posixsuite

// act is one call that is about to be made: on which side, and on what.
type act struct {
	// dir is the case's directory, path the target's, other the second
	// target's of a call that takes two paths.
	dir, path, other string
	// fd is the target, opened by its owner, for calls on descriptors.
	fd int
}

// call is one row of the tables: a system call with its arguments but for the
// target. do returns what the call returned, in words that do not depend on
// where it was made.
type call struct {
	name string
	// flags opens the target, for calls on descriptors.
	flags int
	do    func(x act) (string, error)
}

// only is a call that returns nothing but its error.
func only(name string, do func(x act) error) call {
	return call{name: name, do: func(x act) (string, error) { return "", do(x) }}
}
