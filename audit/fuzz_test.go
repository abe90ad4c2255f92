package audit

import (
	"strings"
	"testing"
	"time"
)

func FuzzJudge(f *testing.F) {
	for _, file := range []string{"testdata/verdicts.tsv", "testdata/kinds.tsv"} {
		for _, row := range cases(f, file) {
			f.Add(row[0])
		}
	}
	c := NewClassifier(Builtin())
	f.Fuzz(func(t *testing.T, command string) {
		j := c.Judge(command)
		if j.Verdict != Pass && (j.Rule == "" || j.Reason == "") {
			t.Errorf("%q: %v without a rule or a reason", command, j.Verdict)
		}
		if again := c.Judge(command); again.Verdict != j.Verdict || again.Rule != j.Rule {
			t.Errorf("%q: %v, then %v", command, j, again)
		}
	})
}

// hostile are commands that make a careless classifier slow.
func hostile() map[string]string {
	fill := func(s string) string { return strings.Repeat(s, CommandLimit/len(s)) }
	nest := func(open, shut string, n int) string { return strings.Repeat(open, n) + "x" + strings.Repeat(shut, n) }
	return map[string]string{
		"letters":       fill("a"),
		"quotes":        fill(`'a'"b"`),
		"pipes":         fill("a|") + "a",
		"lists":         fill("a;"),
		"background":    fill("a&"),
		"substitutions": nest("$(", ")", CommandLimit/3-1),
		"backticks":     fill("`a`"),
		"subshells":     nest("(", ")", CommandLimit/2-1),
		"blocks":        nest("{ ", ";}", CommandLimit/5),
		"braces":        fill("{a,b}"),
		"ranges":        fill("{1..99999}"),
		"doubling":      "a=xxxxxxxx;" + strings.Repeat("a=$a$a;", 1400),
		"wide":          "a=" + strings.Repeat("x", 500) + ";echo " + strings.Repeat("$a", 4500),
		"functions":     strings.Repeat("f(){ f;};", 1100),
		"calls":         "f(){ g;g;g;g;};g(){ h;h;h;h;};h(){ i;i;i;i;};i(){ j;j;j;j;};j(){ k;k;k;k;};k(){ l;l;l;l;};f;f;f",
		"loops":         "for a in {1..9}; do for b in 1 2 3 4 5 6 7 8 9; do for c in 1 2 3 4 5 6 7 8 9; do for d in 1 2 3 4 5 6 7 8 9; do for e in 1 2 3 4 5 6 7 8 9; do rm $a$b$c; done;done;done;done;done",
		"documents":     strings.Repeat("cat <<A\nx\nA\n", 800),
		"open document": fill("cat <<A "),
		"redirections":  fill(">a "),
		"assignments":   fill("a=b "),
		"wrappers":      fill("env ") + "ls",
		"shells":        "bash -c " + fill("bash\\ -c\\ "),
		"patterns":      "echo ${x//" + fill("*?"),
		"slashes":       "rm -rf " + fill("/*"),
		"stars":         "cat " + fill("*a"),
		"code":          "python3 -c '" + fill("/a") + "'",
		"spawns":        "python3 -c '" + fill("system(\"a\");") + "'",
		"arithmetic":    "echo $((" + fill("1+") + "1))",
		"broken":        ")" + fill("rm -rf a|"),
		"brackets":      fill("[[ a ]];"),
		"xargs":         fill("echo a|xargs "),
		"runes":         strings.Repeat("\uE001", 3000),
		"long paths":    "a=" + strings.Repeat("a/", 250) + ";for i in 1 2 3 4 5 6 7 8 9;do " + strings.Repeat("cat "+strings.Repeat("$a", 250)+";", 15) + "done",
		"looped code":   "for a in 1 2 3 4 5 6 7 8 9;do python3 -c '" + strings.Repeat("system(1);", 900) + "';done",
	}
}

// TestHostileCommandsEnd holds the work on a command to its bound, by count: a
// time would say what else the machine does.
func TestHostileCommandsEnd(t *testing.T) {
	c := NewClassifier(Builtin())
	for name, command := range hostile() {
		if r := []rune(command); len(r) > CommandLimit {
			command = string(r[:CommandLimit])
		}
		begun := time.Now()
		j := c.read(command)
		t.Logf("%-14s %8.2f ms %5d steps", name, float64(time.Since(begun).Microseconds())/1000, j.work)
		if j.work > 2*maxWork { // the last step may be a large one
			t.Errorf("%s takes %d steps, and the bound is %d", name, j.work, maxWork)
		}
	}
}

func BenchmarkHostile(b *testing.B) {
	c := NewClassifier(Builtin())
	for name, command := range hostile() {
		if r := []rune(command); len(r) > CommandLimit {
			command = string(r[:CommandLimit])
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c.Judge(command)
			}
		})
	}
}
