package audit

import "testing"

func BenchmarkBuiltin(b *testing.B) {
	for b.Loop() {
		Builtin()
	}
}

func BenchmarkJudge(b *testing.B) {
	c := NewClassifier(Builtin())
	rows := cases(b, "testdata/kinds.tsv")
	for b.Loop() {
		for _, row := range rows {
			c.Judge(row[0])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(rows)), "µs/command")
}

func BenchmarkAppend(b *testing.B) {
	for _, sync := range []Sync{Grouped, Always} {
		b.Run(string(sync), func(b *testing.B) {
			l := openLog(b, LogOptions{Dir: b.TempDir(), Sync: sync})
			for b.Loop() {
				if err := l.Append(b.Context(), Record{Type: TypeStart, Command: "make test"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkOpenLog(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		l, err := OpenLog(LogOptions{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		l.Close()
	}
}
