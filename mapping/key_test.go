package mapping

import (
	"regexp"
	"strings"
	"testing"
)

func TestValidateID(t *testing.T) {
	for id, want := range map[string]string{ // "" means valid
		"a":                      "",
		"Thread_1-x":             "",
		"-rf":                    "",
		"__proto__":              "",
		strings.Repeat("x", 64):  "",
		"":                       "empty",
		strings.Repeat("x", 65):  "65 bytes",
		strings.Repeat("é", 33):  "66 bytes",
		".":                      "other than",
		"..":                     "other than",
		"../x":                   "other than",
		"a/b":                    "other than",
		"/a":                     "other than",
		"a\n":                    "other than",
		"\na":                    "other than",
		"a b":                    "other than",
		"a:b":                    "other than",
		"a.b":                    "other than",
		"a\x00":                  "other than",
		"é":                      "other than",
		"a\u200b":                "other than",
		"\xff":                   "other than",
		"%2e%2e":                 "other than",
		"a\\b":                   "other than",
		strings.Repeat("/", 1e5): "100000 bytes",
	} {
		err := ValidateID("thread", id)
		switch {
		case want == "" && err != nil:
			t.Errorf("%.40q: %v", id, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "thread id")):
			t.Errorf("%.40q: %v, want an error about the thread id with %q", id, err, want)
		}
		if err != nil && (len(err.Error()) > 400 || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%.40q: the message is long or has a line break: %.100q", id, err.Error())
		}
	}
}

func FuzzValidateID(f *testing.F) {
	for _, seed := range []string{"a", "", "../x", "a\n", "a\x00", strings.Repeat("x", 64), strings.Repeat("x", 65), "Ａ", "a:b", "-", "\xc3\x28"} {
		f.Add(seed)
	}
	valid := regexp.MustCompile(`\A[A-Za-z0-9_-]{1,64}\z`)
	f.Fuzz(func(t *testing.T, id string) {
		if got, want := ValidateID("user", id) == nil, valid.MatchString(id); got != want {
			t.Errorf("ValidateID(%q): valid %v, want %v", id, got, want)
		}
		// An invalid part makes an invalid key, and no table.
		for _, k := range []Key{{User: id, Thread: "t"}, {Thread: id}, {User: id}} {
			want := valid.MatchString(id) || id == "" // empty means the default
			if got := k.Validate() == nil; got != want {
				t.Errorf("%+v: valid %v, want %v", k, got, want)
			}
			if _, err := (Layout{Home: "/h"}).Table(k); (err == nil) != want {
				t.Errorf("%+v: the table's error is %v, valid: %v", k, err, want)
			}
		}
	})
}

func TestKeyNames(t *testing.T) {
	for _, c := range []struct {
		key     Key
		text    string
		generic bool
	}{
		{Key{}, "", true},
		{Key{User: "alice"}, "", true},
		{Key{Thread: "t"}, "t", false},
		{Key{User: "default", Thread: "t"}, "t", false},
		{Key{User: "alice", Thread: "t"}, "alice:t", false},
		{Key{User: "alice", Thread: "default"}, "alice:default", false},
	} {
		if got := c.key.String(); got != c.text {
			t.Errorf("%+v has the text %q, want %q", c.key, got, c.text)
		}
		if c.key.IsGeneric() != c.generic || c.key.Normalize().IsGeneric() != c.generic {
			t.Errorf("%+v: generic %v, want %v", c.key, c.key.IsGeneric(), c.generic)
		}
		if n := c.key.Normalize(); n.User == "" || n.String() != c.text || n.Normalize() != n {
			t.Errorf("%+v normalizes to %+v", c.key, n)
		}
	}
}
