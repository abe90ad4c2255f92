package tool

import (
	"sort"
	"strings"
)

// IsSecretName reports whether the name of a variable looks like that of a
// secret: by its words, so that TOKEN and GH_TOKEN do and TOKENIZERS_PARALLELISM
// and KEYBOARD do not. It errs on the side of yes.
func IsSecretName(name string) bool {
	upper := strings.ToUpper(name)
	for _, word := range strings.FieldsFunc(upper, func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
		switch strings.TrimRight(word, "0123456789") {
		case "KEY", "KEYS", "SECRET", "SECRETS", "TOKEN", "TOKENS", "PASS", "PASSWD", "PASSWORD", "PASSWORDS", "PASSPHRASE", "PWD", "PW", "PIN",
			"CREDENTIAL", "CREDENTIALS", "CRED", "CREDS", "DSN", "PAT", "AUTH", "OAUTH", "COOKIE", "COOKIES", "SESSION", "JWT", "BEARER",
			"CERT", "SALT", "SIGNATURE", "WEBHOOK", "PRIVATE", "KUBECONFIG", "NETRC", "PGPASSFILE", "PGSERVICEFILE":
			// The shell's own record of where it is.
			return upper != "PWD" && upper != "OLDPWD"
		}
	}
	// Words that are written together with others.
	for _, part := range []string{"APIKEY", "ACCESSKEY", "SECRETKEY", "PRIVATEKEY", "PASSWORD", "PASSWD", "SECRET", "AUTHTOKEN", "ACCESSTOKEN", "CREDENTIAL"} {
		if strings.Contains(upper, part) {
			return true
		}
	}
	// Addresses that carry a password, and directories of credentials.
	for _, store := range []string{"DATABASE", "DB", "REDIS", "MONGO", "MONGODB", "AMQP", "RABBIT", "RABBITMQ", "POSTGRES", "POSTGRESQL", "MYSQL", "CLICKHOUSE", "SENTRY"} {
		for _, kind := range []string{"URL", "URI", "CONN", "CONNECTION", "CONNECTION_STRING", "CONN_STR"} {
			if upper == store+"_"+kind || strings.HasSuffix(upper, "_"+store+"_"+kind) {
				return true
			}
		}
	}
	switch upper {
	case "CONNECTION_STRING", "CONN_STR", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "DOCKER_CONFIG", "GNUPGHOME", "AWS_PROFILE", "MYSQL_PWD", "REDISCLI_AUTH":
		return true
	}
	return false
}

// hostEnv takes the variables that are named, and no secrets, out of the
// host's environment.
func hostEnv(names, environ []string) map[string]string {
	env := map[string]string{}
	for _, pair := range environ {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" || IsSecretName(name) {
			continue
		}
		for _, n := range names {
			prefix, some := strings.CutSuffix(n, "*")
			if n == name || some && strings.HasPrefix(name, prefix) {
				env[name] = value
			}
		}
	}
	return env
}

// minSecret is the length in bytes below which a value is not redacted: it
// would be found in innocent text.
const minSecret = 8

// redactor takes values out of texts. The zero value takes none.
type redactor struct {
	values   []string // longest first, so that one that is part of another leaves no rest
	replacer *strings.Replacer
}

const redacted = "[redacted]"

// newRedactor returns one for the values that are long enough. A value of
// several lines is also taken out line by line.
func newRedactor(values ...string) redactor {
	seen := map[string]bool{}
	var all []string
	for _, v := range values {
		for _, part := range append([]string{v, strings.TrimSpace(v)}, strings.Split(v, "\n")...) {
			if len(part) >= minSecret && !seen[part] {
				seen[part] = true
				all = append(all, part)
			}
		}
	}
	sort.Slice(all, func(i, j int) bool {
		if len(all[i]) != len(all[j]) {
			return len(all[i]) > len(all[j])
		}
		return all[i] < all[j]
	})
	if len(all) == 0 {
		return redactor{}
	}
	var pairs []string
	for _, v := range all {
		pairs = append(pairs, v, redacted)
	}
	return redactor{values: all, replacer: strings.NewReplacer(pairs...)}
}

func (r redactor) text(s string) string {
	if r.replacer == nil {
		return s
	}
	return r.replacer.Replace(s)
}

// headEnd is where a head must end so that no beginning of a value stays at a
// place where the rest was cut off.
func (r redactor) headEnd(s string) int {
	end := len(s)
	for _, v := range r.values {
		for n := min(len(v)-1, len(s)); n >= minSecret/2; n-- {
			if strings.HasSuffix(s, v[:n]) {
				end = min(end, len(s)-n)
				break
			}
		}
	}
	return end
}

// tailStart is where a tail must begin, likewise.
func (r redactor) tailStart(s string) int {
	start := 0
	for _, v := range r.values {
		for n := min(len(v)-1, len(s)); n >= minSecret/2; n-- {
			if strings.HasPrefix(s, v[len(v)-n:]) {
				start = max(start, n)
				break
			}
		}
	}
	return start
}
