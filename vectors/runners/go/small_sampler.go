package vectors

import (
	"math"
	"os"
	"sort"
)

// SmallSampler is a small right sampler with four faults: FAULT=crossing, ties, once or
// reset.
func SmallSampler(name string, test Test) *Outcome {
	logits, order := make([]float64, len(test.IDs)), make([]int, len(test.IDs))
	for i, x := range test.Logits {
		logits[i], order[i] = float64(x), i
	}
	sort.SliceStable(order, func(a, b int) bool { return logits[order[a]] > logits[order[b]] })
	switch temp := test.Parameter("temp", 0.8); {
	case name == "greedy":
		return &Outcome{IDs: test.IDs, Logits: test.Logits, Token: test.IDs[order[0]]}
	case name == "dist":
		token := test.IDs[drawn(probabilities(logits), test.Uniform)]
		return &Outcome{IDs: test.IDs, Logits: test.Logits, Token: token}
	case name == "temp" && temp > 0:
		left := make([]float32, len(logits))
		for i, x := range logits {
			left[i] = float32(x / temp)
		}
		return &Outcome{IDs: test.IDs, Logits: left}
	case name == "penalties":
		return &Outcome{IDs: test.IDs, Logits: penalized(test, logits)}
	}
	n := survivors(name, test, logits, order)
	if n < 0 {
		return nil
	}
	left := &Outcome{}
	for place, i := range order {
		if place < n {
			left.IDs = append(left.IDs, test.IDs[i])
			left.Logits = append(left.Logits, test.Logits[i])
		}
	}
	return left
}

type withHistory struct {
	name   string
	tokens []int
}

// MakeSmallSampler makes a sampler with a state. A generator would take the seed.
func MakeSmallSampler(name string, parameters map[string]any, seed *uint32) Instance {
	if name != "penalties" && name != "dist" {
		return nil
	}
	return &withHistory{name: name}
}

func (of *withHistory) Apply(test Test) Outcome {
	test.Tokens = of.tokens
	return *SmallSampler(of.name, test)
}

func (of *withHistory) Accept(token int) {
	of.tokens = append(of.tokens, token)
}

func (of *withHistory) Reset() {
	if !fault("reset") {
		of.tokens = nil
	}
}

func (of *withHistory) Clone() Instance {
	return &withHistory{of.name, append([]int(nil), of.tokens...)}
}

// survivors returns how many of the largest logits stay; -1 for another sampler.
func survivors(name string, test Test, logits []float64, order []int) int {
	all, least := len(order), larger(1, int(test.Parameter("min_keep", 0)))
	switch name {
	case "temp":
		return 1
	case "top_k":
		k := int(test.Parameter("k", 40))
		if k <= 0 || k > all {
			k = all
		}
		if fault("ties") {
			return atLeast(logits, logits[order[k-1]])
		}
		return k
	case "top_p":
		p := test.Parameter("p", 0.95)
		if p >= 1 {
			return all
		}
		shares, mass := probabilities(logits), 0.0
		for n, i := range order {
			mass += shares[i]
			if mass >= p && fault("crossing") {
				return larger(n, least)
			}
			if mass >= p {
				return larger(n+1, least)
			}
		}
		return all
	case "min_p":
		p := test.Parameter("p", 0.05)
		if p <= 0 {
			return all
		}
		if p > 1 {
			return least
		}
		return larger(atLeast(logits, logits[order[0]]+math.Log(p)), least)
	}
	return -1
}

func probabilities(logits []float64) []float64 {
	max, sum := math.Inf(-1), 0.0
	for _, x := range logits {
		max = math.Max(max, x)
	}
	shares := make([]float64, len(logits))
	for i, x := range logits {
		shares[i] = math.Exp(x - max)
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

func drawn(shares []float64, u float64) int {
	mass, last := 0.0, 0
	for i, share := range shares {
		mass += share
		if u < mass {
			return i
		}
		if share > 0 {
			last = i
		}
	}
	return last
}

func penalized(test Test, logits []float64) []float32 {
	last := larger(0, int(test.Parameter("penalty_last_n", 64)))
	window := test.Tokens[larger(0, len(test.Tokens)-last):]
	repeat := test.Parameter("penalty_repeat", 1)
	left := make([]float32, len(logits))
	for place, x := range logits {
		count := 0.0
		for _, token := range window {
			if token == test.IDs[place] {
				count++
			}
		}
		if count > 0 {
			if x <= 0 {
				x *= repeat
			} else {
				x /= repeat
			}
			times := 1.0
			if fault("once") {
				times = count
			}
			x -= count * test.Parameter("penalty_freq", 0)
			x -= times * test.Parameter("penalty_present", 0)
		}
		left[place] = float32(x)
	}
	return left
}

func atLeast(logits []float64, cut float64) int {
	n := 0
	for _, x := range logits {
		if x >= cut {
			n++
		}
	}
	return n
}

func larger(a, b int) int {
	if a > b {
		return a
	}
	return b
}

func fault(name string) bool {
	return os.Getenv("FAULT") == name
}
