package mounter

// Reveals looks for what a directory of the host would show besides its own
// files: one of the directories own, or a part of one, by way of a bind mount;
// or a mount of a thread's tree. All paths are real ones. It returns the place
// where that is seen, or "".
func Reveals(dir string, own ...string) (string, error) {
	table, err := readTable()
	if err != nil {
		return "", err
	}
	return table.reveals(dir, own), nil
}

func (t mountTable) reveals(dir string, own []string) string {
	overlaps := func(p string) bool {
		for _, o := range own {
			if t.inside(p, o) || t.inside(o, p) {
				return true
			}
		}
		return false
	}
	if m, ok := t.containing(dir); ok && m.kind == fsType || overlaps(dir) {
		return dir
	}
	for _, m := range t.below(dir) {
		if m.kind == fsType || overlaps(m.point) {
			return m.point
		}
	}
	return ""
}
