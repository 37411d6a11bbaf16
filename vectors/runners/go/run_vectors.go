// Package vectors runs test vectors with go alone: `VECTORS=kit go test -v`, with the absolute
// path of a kit.
//
// Copy this folder and put your sampler in vectors_test.go instead of the small one. It returns
// what is left, or nil for a sampler that it lacks. For scripts it has a Maker. With EXACT=1 the
// result must be llama.cpp's to the bit. The README of the kit has the fields.
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

// Maker makes a sampler with a state for a script; nil if it is missing. A sampler that draws has
// a seed.
type Maker func(name string, parameters map[string]any, seed *uint32) Instance

type Instance interface {
	Apply(test Test) Outcome // the test has no tokens
	Accept(token int)
	Reset()
	Clone() Instance
}

// Outcome is what is left. P and Sorted may be nil; only EXACT=1 compares them.
type Outcome struct {
	IDs    []int
	Logits []float32
	Token  int
	P      []float32
	Sorted *bool
}

type Test struct {
	ID         string
	About      string
	Parameters map[string]any
	Tokens     []int
	Uniform    float64
	Flags      []string
	IDs        []int
	Row        any       `json:"logits"`
	RowP       any       `json:"p"`
	Logits, P  []float32 `json:"-"`
	Exact      Exact
	Right      *Right

	// A script has these.
	Seed      *uint32
	Instances int
	Calls     []Call
}

type Call struct {
	Test
	Call      string
	On, Token int
}

// Exact is what llama.cpp leaves. Once it is read it has each field but Token.
type Exact struct {
	IDs       []int
	Row       any       `json:"logits"`
	RowP      any       `json:"p"`
	Logits, P []float32 `json:"-"`
	Sorted    *bool
	Token     *int
}

// Right has nil for each field that the test lacks.
type Right struct {
	Stay        []int
	May         []int
	Least, Most *int
	IDs         []int
	Low, High   any
	Tokens      []int
	TokenAlone  bool `json:"token_alone"`

	low, high []float64
}

type Report struct {
	Name         string
	Run, Skipped int
	Problems     []string // lines "ID: problem"
}

// Problems runs the tests of one file. build may be nil.
func Problems(path string, rows []byte, sample Sampler, build Maker) (Report, error) {
	name, tests, err := Tests(path, rows)
	report := Report{Name: name}
	for _, test := range tests {
		if test.Calls == nil && test.Right == nil && !isExact() {
			continue
		}
		problem, known := test.run(name, sample, build)
		if !known {
			report.Skipped++
			continue
		}
		report.Run++
		if problem != "" {
			report.Problems = append(report.Problems, test.ID+": "+problem)
		}
	}
	return report, err
}

// run returns what is wrong, or ""; false if the sampler is missing.
func (test Test) run(name string, sample Sampler, build Maker) (string, bool) {
	if test.Calls != nil {
		return test.runScript(name, build)
	}
	outcome := sample(name, test)
	if outcome == nil {
		return "", false
	}
	return Problem(test, *outcome), true
}

// runScript makes the calls of a script up to the first problem.
func (test Test) runScript(name string, build Maker) (string, bool) {
	var instances []Instance
	for build != nil && (len(instances) == 0 || len(instances) < test.Instances) {
		instance := build(name, test.Parameters, test.Seed)
		if instance == nil {
			return "", false
		}
		instances = append(instances, instance)
	}
	if instances == nil {
		return "", false
	}
	for i, call := range test.Calls {
		switch on := instances[call.On]; call.Call {
		case "accept":
			on.Accept(call.Token)
		case "reset":
			on.Reset()
		case "clone":
			instances = append(instances, on.Clone())
		default:
			if problem := Problem(call.Test, on.Apply(call.Test)); problem != "" {
				return fmt.Sprintf("call %d: %s", i+1, problem), true
			}
		}
	}
	return "", true
}

func isExact() bool {
	return os.Getenv("EXACT") == "1"
}

// Problem returns what is wrong with a result, or "".
func Problem(test Test, outcome Outcome) string {
	right, removed := test.Right, math.Inf(-1)
	if isExact() {
		return exactProblem(test, outcome)
	}
	if right == nil {
		return ""
	}
	if right.TokenAlone {
		return right.problemOfToken(outcome.Token)
	}
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
	return right.problemOfToken(outcome.Token)
}

func (right Right) problemOfToken(selected int) string {
	for _, token := range right.Tokens {
		if token == selected {
			return ""
		}
	}
	if right.Tokens != nil {
		return fmt.Sprintf("token %d is selected, not one of %v", selected, right.Tokens)
	}
	return ""
}

// exactProblem returns where a result differs from llama.cpp's, or "".
func exactProblem(test Test, outcome Outcome) string {
	exact := test.Exact
	switch {
	case fmt.Sprint(outcome.IDs) != fmt.Sprint(exact.IDs):
		return "other ids are left, or in another order"
	case !sameBits(outcome.Logits, exact.Logits):
		return "logits differ"
	case outcome.P != nil && !sameBits(outcome.P, exact.P):
		return "p differ"
	case exact.Token != nil && outcome.Token != *exact.Token:
		return fmt.Sprintf("token %d is selected, not %d", outcome.Token, *exact.Token)
	case outcome.Sorted != nil && *outcome.Sorted != *exact.Sorted:
		return fmt.Sprintf("sorted is %v", *outcome.Sorted)
	}
	return ""
}

// sameBits takes NaN as equal, and 0 and -0 as different.
func sameBits(some, others []float32) bool {
	same := len(some) == len(others)
	for i := 0; same && i < len(some); i++ {
		x, y := some[i], others[i]
		same = math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
	}
	return same
}

func or(n *int, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return *n
}

// Tests reads a file and returns its sampler and its tests.
func Tests(path string, rows []byte) (string, []Test, error) {
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
		test.read(rows)
		for i := range test.Calls {
			test.Calls[i].Parameters = test.Parameters
			test.Calls[i].read(rows)
		}
	}
	return file.Sampler, file.Tests, nil
}

// read takes the numbers of rows, and what a call leaves out.
func (test *Test) read(rows []byte) {
	if test.Row == nil {
		return // not apply
	}
	test.Logits = floats(test.Row, rows)
	if test.P = floats(test.RowP, rows); test.P == nil {
		test.P = make([]float32, len(test.Logits))
	}
	for i := range test.Logits {
		if len(test.IDs) == i {
			test.IDs = append(test.IDs, i)
		}
	}
	if right := test.Right; right != nil && right.Low != nil {
		right.low, right.high = numbers(right.Low, rows), numbers(right.High, rows)
	}
	exact, places, sorted := &test.Exact, map[int]int{}, false
	for place, i := range test.IDs {
		places[i] = place
	}
	for _, flag := range test.Flags {
		sorted = sorted || flag == "sorted"
	}
	if exact.Sorted == nil {
		exact.Sorted = &sorted
	}
	if exact.IDs == nil {
		exact.IDs = test.IDs
	}
	exact.Logits, exact.P = floats(exact.Row, rows), floats(exact.RowP, rows)
	for _, i := range exact.IDs {
		if exact.Row == nil {
			exact.Logits = append(exact.Logits, test.Logits[places[i]])
		}
		if exact.RowP == nil {
			exact.P = append(exact.P, test.P[places[i]])
		}
	}
}

func floats(row any, rows []byte) []float32 {
	var out []float32
	for _, x := range numbers(row, rows) {
		out = append(out, float32(x))
	}
	return out
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

// number returns a number, also that of "inf", "-inf" or "nan".
func number(value any) float64 {
	if text, ok := value.(string); ok {
		x, _ := strconv.ParseFloat(text, 64)
		return x
	}
	return value.(float64)
}
