package tool

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/provider"
)

// Whatever the arguments are, they are understood or refused, and no text is
// altered on its way.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`, `{"description":"x","path":"p","content":"c"}`, `{"description":"x","path":"p","content":"\ud800"}`,
		`{"description":"x","path":"p","content":"\ud83d\ude00\\ud800"}`, `{"description":"x","path":"p","content":"c","append":"TRUE"}`,
		"{\"description\":\"x\",\"path\":\"p\",\"content\":\"\xff\"}", `{"description":"x","path":1}`, `{"description":"x","path":"p","content":"\udc00\ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var a WriteFileArguments
		err := decode(NameWriteFile, raw, &a)
		if err != nil {
			if !errors.Is(err, provider.Invalid) {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		if strings.ContainsRune(a.Content, '\uFFFD') && !strings.Contains(string(raw), "\uFFFD") && !strings.Contains(strings.ToLower(string(raw)), `\ufffd`) {
			t.Fatalf("%q became %q", raw, a.Content)
		}
		again, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var b WriteFileArguments
		if err := decode(NameWriteFile, again, &b); err != nil || a != b {
			t.Fatalf("%s: %v", again, err)
		}
	})
}

func TestIsSecretName(t *testing.T) {
	for _, name := range []string{
		"KEY", "API_KEY", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "TOKEN", "GH_TOKEN", "npm_token", "PASSWORD", "DB_PASS", "DB_PWD", "PGPASSWORD", "MYSQL_PWD",
		"GOOGLE_APPLICATION_CREDENTIALS", "SENTRY_DSN", "MY_DATABASE_URL", "DATABASE_URL", "REDIS_URL", "GH_PAT", "MY_PAT", "AUTH", "SSH_AUTH_SOCK", "KUBECONFIG", "DOCKER_CONFIG",
		"REDISCLI_AUTH", "CONNECTION_STRING", "PGSERVICEFILE", "APIKEY", "MYSECRETS", "TOKEN2", "JWT", "SESSION_COOKIE",
	} {
		if !IsSecretName(name) {
			t.Errorf("%s passes for harmless", name)
		}
	}
	for _, name := range []string{"PATH", "HOME", "PWD", "OLDPWD", "LANG", "MONKEY", "KEYBOARD", "TOKENIZERS_PARALLELISM", "PASSENGER", "COMPASS", "EDITOR", "MY_SETTING", "BYPASSED", "PATTERN", "BASE_URL"} {
		if IsSecretName(name) {
			t.Errorf("%s passes for a secret", name)
		}
	}
}
