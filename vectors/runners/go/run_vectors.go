// Package vectors runs test vectors with go alone: `VECTORS=kit go test -v`, with the absolute
// path of a kit.
//
// Copy this folder and put your sampler in vectors_test.go instead of the small one. It returns
// what is left, or nil for a sampler that it lacks. The README of the kit has the fields.
package vectors

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
)

type Sampler func(name string, test Test) *Outcome

type Outcome struct {
	IDs    []int
	Logits []float32
	Token  int
}

type Test struct {
	ID         string
	About      string
	Parameters map[string]any
	Tokens     []int
	Uniform    float64
	IDs        []int
	Row        any       `json:"logits"`
	Logits     []float32 `json:"-"`
	Right      *Right
}

// Right has nil for each field that the test lacks.
type Right struct {
	Stay        []int
	May         []int
	Least, Most *int
	IDs         []int
	Low, High   any
	Tokens      []int

	low, high []float64
}

type Report struct {
	Name         string
	Run, Skipped int
	Problems     []string // lines "ID: problem"
}

// Problems runs the tests of one file.
func Problems(path string, rows []byte, sample Sampler) (Report, error) {
	name, tests, err := Vectors(path, rows)
	report := Report{Name: name}
	for _, test := range tests {
		if test.Right == nil {
			continue
		}
		outcome := sample(name, test)
		if outcome == nil {
			report.Skipped++
			continue
		}
		report.Run++
		if problem := Problem(test, *outcome); problem != "" {
			report.Problems = append(report.Problems, test.ID+": "+problem)
		}
	}
	return report, err
}

// Problem returns what is wrong with a result, or "".
func Problem(test Test, outcome Outcome) string {
	right, removed := test.Right, math.Inf(-1)
	if len(outcome.IDs) != len(outcome.Logits) {
		return fmt.Sprintf("%d ids, %d logits", len(outcome.IDs), len(outcome.Logits))
	}
	before, left := map[int]float64{}, map[int]float64{}
	for place, i := range test.IDs {
		before[i] = float64(test.Logits[place])
	}
	seen := map[int]bool{}
	for place, i := range outcome.IDs {
		if seen[i] {
			return "an id comes twice"
		}
		seen[i] = true
		if x := float64(outcome.Logits[place]); x != removed {
			left[i] = x
		}
	}
	stay := right.Stay
	if stay == nil {
		for _, i := range test.IDs {
			if before[i] != removed {
				stay = append(stay, i)
			}
		}
	}
	allowed := map[int]bool{}
	for _, i := range stay {
		if _, ok := left[i]; !ok {
			return fmt.Sprintf("token %d must stay", i)
		}
		allowed[i] = true
	}
	for _, i := range right.May {
		allowed[i] = true
	}
	for _, i := range outcome.IDs {
		if _, ok := left[i]; ok && !allowed[i] {
			return fmt.Sprintf("token %d must go", i)
		}
	}
	least, most := or(right.Least, len(stay)), or(right.Most, len(stay))
	if len(left) < least || len(left) > most {
		return fmt.Sprintf("%d tokens stay, not %d to %d", len(left), least, most)
	}
	low, high := before, before
	if right.Low != nil {
		order := right.IDs
		if order == nil {
			order = test.IDs
		}
		low, high = map[int]float64{}, map[int]float64{}
		for place, i := range order {
			low[i], high[i] = right.low[place], right.high[place]
		}
	}
	for _, i := range outcome.IDs {
		// The negation, since a NaN is wrong too.
		if x, ok := left[i]; ok && !(low[i] <= x && x <= high[i]) {
			return fmt.Sprintf("token %d has %v, not %v to %v", i, x, low[i], high[i])
		}
	}
	for _, token := range right.Tokens {
		if token == outcome.Token {
			return ""
		}
	}
	if right.Tokens != nil {
		return fmt.Sprintf("token %d is selected, not one of %v", outcome.Token, right.Tokens)
	}
	return ""
}

func or(n *int, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return *n
}

// Vectors reads a file and returns its sampler and its tests.
func Vectors(path string, rows []byte) (string, []Test, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", nil, err
	}
	var file struct {
		Sampler string
		Tests   []Test
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return "", nil, err
	}
	for place := range file.Tests {
		test := &file.Tests[place]
		given := test.IDs != nil
		for i, x := range numbers(test.Row, rows) {
			test.Logits = append(test.Logits, float32(x))
			if !given {
				test.IDs = append(test.IDs, i)
			}
		}
		if right := test.Right; right != nil && right.Low != nil {
			right.low, right.high = numbers(right.Low, rows), numbers(right.High, rows)
		}
	}
	return file.Sampler, file.Tests, nil
}

// numbers returns the numbers of a row.
func numbers(row any, rows []byte) []float64 {
	var out []float64
	switch row := row.(type) {
	case []any:
		for _, value := range row {
			out = append(out, number(value))
		}
	case map[string]any:
		at := int(number(row["at"]))
		for i := at; i < at+int(number(row["n"])); i++ {
			bits := binary.LittleEndian.Uint32(rows[4*i:])
			out = append(out, float64(math.Float32frombits(bits)))
		}
	}
	return out
}

// Parameter returns a parameter that is a number.
func (test Test) Parameter(key string, otherwise float64) float64 {
	if value, ok := test.Parameters[key]; ok {
		return number(value)
	}
	return otherwise
}

// number returns a number, also that of "inf" or "-inf".
func number(value any) float64 {
	if text, ok := value.(string); ok {
		x, _ := strconv.ParseFloat(text, 64)
		return x
	}
	return value.(float64)
}
