package vectors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVectors(t *testing.T) {
	kit := os.Getenv("VECTORS")
	rows, err := os.ReadFile(filepath.Join(kit, "rows.f32"))
	if err != nil {
		t.Fatal(err)
	}
	paths, _ := filepath.Glob(filepath.Join(kit, "vectors", "*.json"))
	scripts, _ := filepath.Glob(filepath.Join(kit, "scripts", "*.json"))
	if paths = append(paths, scripts...); len(paths) == 0 {
		t.Fatal("no vectors in ", kit)
	}
	for _, path := range paths {
		file, _ := filepath.Rel(kit, path)
		name := strings.TrimSuffix(file, ".json")
		t.Run(name, func(t *testing.T) {
			report, err := Problems(path, rows, SmallSampler, MakeSmallSampler)
			if err != nil {
				t.Fatal(err)
			}
			check(t, report)
		})
	}
}

func check(t *testing.T, report Report) {
	wrong := report.Problems
	if len(wrong) > 10 {
		wrong = wrong[:10]
	}
	right := report.Run - len(report.Problems)
	switch {
	case len(wrong) > 0:
		t.Errorf("%s: %d of %d right\n%s", report.Name, right, report.Run, strings.Join(wrong, "\n"))
	case report.Run == 0:
		t.Skipf("%s: skipped, %d tests", report.Name, report.Skipped)
	default:
		t.Logf("%s: %d of %d right", report.Name, right, report.Run)
	}
}
