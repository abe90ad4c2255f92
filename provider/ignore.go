package provider

// IsIgnoredDir reports whether glob and grep pass over a directory of this name
// unless asked not to: what version control, package managers and tool caches
// fill, and an agent hardly ever means. Places where people put results
// (build, dist, out, target, logs) are searched.
func IsIgnoredDir(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", ".bzr", "CVS",
		"node_modules", "bower_components", "site-packages",
		"__pycache__", ".venv", "venv", ".tox", ".nox", ".eggs",
		".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints",
		".cache", ".npm", ".yarn", ".gradle", ".terraform",
		".next", ".nuxt", ".turbo", ".parcel-cache", ".svelte-kit",
		".idea", ".vscode", ".sandboxfs":
		return true
	}
	return false
}
