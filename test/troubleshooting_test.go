package test

import (
	"regexp"
	"strings"
	"testing"
)

// ofOthers are messages that the kernel or a shell puts into words.
var ofOthers = map[string]string{
	"Read-only file system": "EROFS",
	"Disk quota exceeded":   "EDQUOT",
}

// Each message that docs/TROUBLESHOOTING.md names is one that somebody can get.
func TestTroubleshootingNamesRealMessages(t *testing.T) {
	var code strings.Builder
	for _, s := range theTree(t).all {
		if s.product() {
			code.WriteString(readDoc(t, s.path))
		}
	}
	text := code.String()
	doc := readDoc(t, "docs/TROUBLESHOOTING.md")
	found := 0
	for _, heading := range regexp.MustCompile("(?m)^### .*$").FindAllString(doc, -1) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(heading, -1) {
			found++
			if _, ok := ofOthers[m[1]]; !ok && !strings.Contains(text, m[1]) {
				t.Errorf("docs/TROUBLESHOOTING.md: no source has the message %q; name the one that is shown now", m[1])
			}
		}
	}
	if found < 15 {
		t.Errorf("docs/TROUBLESHOOTING.md has %d messages; were they found?", found)
	}

	// A call that has a cure of its own, and a check of doctor, has its place.
	for what, pattern := range map[string]string{
		"exec/jail/cures.go":        `(?m)^\top[A-Z][A-Za-z]+ += "([^"]+)"`,
		"internal/doctor/checks.go": `(?m)^\t\t\{"([a-z-]+)", check`,
	} {
		names := regexp.MustCompile(pattern).FindAllStringSubmatch(readDoc(t, what), -1)
		if len(names) < 5 {
			t.Errorf("%s: %d names; were they found?", what, len(names))
		}
		for _, m := range names {
			if !strings.Contains(doc, "`"+m[1]) && !strings.HasPrefix(m[1], "write /proc/sys/") {
				t.Errorf("docs/TROUBLESHOOTING.md does not mention %q of %s: whoever meets it looks there", m[1], what)
			}
		}
	}
}
