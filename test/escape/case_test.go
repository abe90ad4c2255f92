package escape

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestParseExpectations(t *testing.T) {
	cases := map[string][]ExpectKind{
		"rc=0":                                     {ExitIs},
		"rc!=0 && out~syntax error":                {ExitIsNot, Matches},
		"out~rc=[1-9] && out!~root:":               {Matches, MatchesNot},
		"out~a && b && time<2":                     {Matches, Within},
		"TIMEOUT=3 && time<6 && host~no process":   {TimeLimit, Within, OnHost},
		"SESSION && next(cd /tmp && pwd)~/tmp":     {Session, Next},
		"SESSION && next(f(){ :; }; f)~^$":         {Session, Next},
		"SESSION && next(x; y) does not hang":      {Session, Next},
		"SESSION && two calls at once, unmixed":    {Session, Words},
		"NET=allowlist && out~(403|000) && host~x": {Net, Matches, OnHost},
	}
	for in, want := range cases {
		t.Run(in, func(t *testing.T) {
			got, err := ParseExpectations(in)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) {
				t.Fatalf("want %d parts, got %+v", len(want), got)
			}
			for i := range want {
				if got[i].Kind != want[i] {
					t.Errorf("part %d: want kind %d, got %d", i, want[i], got[i].Kind)
				}
			}
		})
	}
}

func TestParseExpectationsKeepsJoinerInside(t *testing.T) {
	got, err := ParseExpectations("SESSION && next(cd /tmp && pwd)~/tmp")
	if err != nil {
		t.Fatal(err)
	}
	if want := "cd /tmp && pwd"; got[1].Text != want {
		t.Errorf("want the command %q, got %q", want, got[1].Text)
	}
}

func TestParseExpectationsRefuses(t *testing.T) {
	for _, in := range []string{"", "rc=x", "rc=256", "rc=-1", "time<0", "time<soon", "time<NaN", "out~(", "host~", "NET=", "next(x", "SESSIONS"} {
		if got, err := ParseExpectations(in); err == nil {
			t.Errorf("%q: want an error, got %+v", in, got)
		}
	}
}

func TestOutcomeCheck(t *testing.T) {
	o := Outcome{Code: 3, Stdout: []byte("0\nx\n"), Stderr: []byte("mount -1 EPERM\n"), Took: 3 * time.Second}
	cases := map[string]bool{
		"rc=3": true, "rc=0": false, "rc!=0": true, "rc!=3": false,
		"out~^0\\nx$": true, "out~^x$": true, "out~^EPERM": false,
		"out!~x": false, "out!~ (?!-1)[0-9]+": true, "out~mount -1 E(PERM|NOSYS)": true,
		"time<2": false, "time<4": true,
	}
	for in, ok := range cases {
		parts, err := ParseExpectations(in)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Check(parts[0], 1); (err == nil) != ok {
			t.Errorf("%s: want it to hold %v, got %v", in, ok, err)
		}
	}
	within, err := ParseExpectations("time<2")
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Check(within[0], 2); err != nil {
		t.Errorf("with twice the time: %v", err)
	}
}

func TestCombined(t *testing.T) {
	cases := []struct{ out, err, want string }{
		{"", "", ""}, {"a\n\n", "", "a"}, {"", "e\n", "e"}, {"a", "e", "a\ne"}, {"a\n", "e\n", "a\ne"},
	}
	for _, c := range cases {
		o := Outcome{Stdout: []byte(c.out), Stderr: []byte(c.err)}
		if got := o.Combined(); got != c.want {
			t.Errorf("%q and %q: want %q, got %q", c.out, c.err, c.want, got)
		}
	}
}

// Every row is understood, and every check on the host has a function behind
// it.
func TestCasesAreComplete(t *testing.T) {
	for _, c := range readCases(t) {
		for _, e := range c.Expect {
			if e.Kind != OnHost {
				continue
			}
			if _, ok := hostChecks()[e.Text]; !ok && !isLater(c) {
				t.Errorf("%s: nothing checks %q on the host", c.ID, e.Text)
			}
		}
	}
}

func readCases(t testing.TB) []Case {
	t.Helper()
	f, err := os.Open("testdata/escape.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	cases, err := ParseCases(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < 100 {
		t.Fatalf("want a hundred rows and more, got %d", len(cases))
	}
	return cases
}

func FuzzParseExpectations(f *testing.F) {
	for _, seed := range []string{
		"rc=0 && out~x", "SESSION && next(a && b)~c", "time<1e3 && host~y", "out~a && && rc=1",
		"SESSION && SESSION && w", "next()~", "TIMEOUT=0.5", " && ", "rc= && ",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if strings.Contains(in, "{") || len(in) > 200 {
			return // a counted repetition keeps the expressions' own compiler busy
		}
		parts, err := ParseExpectations(in)
		if err != nil {
			return
		}
		if len(parts) == 0 {
			t.Fatalf("%q: no part and no error", in)
		}
		for _, e := range parts {
			switch e.Kind {
			case ExitIs, ExitIsNot:
				if e.Code < 0 || e.Code > 255 {
					t.Errorf("%q: exit status %d", in, e.Code)
				}
			case Matches, MatchesNot:
				if e.Pattern == nil {
					t.Errorf("%q: no expression", in)
				}
			case Within, TimeLimit:
				if e.Limit < 0 {
					t.Errorf("%q: time %v", in, e.Limit)
				}
			}
		}
	})
}
