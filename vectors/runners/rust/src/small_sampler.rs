//! A small right sampler, and four faults: FAULT=crossing, ties, once or reset.

use crate::{Instance, Json, Outcome, Sampler, Test};

#[derive(Clone)]
pub struct SmallSampler {
    pub fault: String,
}

impl SmallSampler {
    pub fn from_env() -> Self {
        SmallSampler {
            fault: std::env::var("FAULT").unwrap_or_default(),
        }
    }
}

impl Sampler for SmallSampler {
    fn sample(&self, name: &str, test: &Test) -> Option<Outcome> {
        let ids = test.ids.clone();
        let logits: Vec<f64> = test.logits.iter().map(|&x| f64::from(x)).collect();
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
        let of = |key, default| parameter(test, key, default);
        if name == "greedy" {
            return outcome(&ids, &logits, Some(ids[order[0]]));
        }
        if name == "dist" {
            let place = drawn(&probabilities(&logits), test.uniform);
            return outcome(&ids, &logits, Some(ids[place]));
        }
        if name == "temp" && of("temp", 0.8) > 0.0 {
            let left: Vec<f64> = logits.iter().map(|x| x / of("temp", 0.8)).collect();
            return outcome(&ids, &left, None);
        }
        if name == "penalties" {
            return outcome(&ids, &self.penalized(test, &logits), None);
        }
        let n = self
            .survivors(name, test, &logits, &order)?
            .min(order.len());
        let left_ids: Vec<i32> = order[..n].iter().map(|&i| ids[i]).collect();
        let left: Vec<f64> = order[..n].iter().map(|&i| logits[i]).collect();
        outcome(&left_ids, &left, None)
    }

    fn make(&self, name: &str, _: &Json, _: Option<u32>) -> Option<Box<dyn Instance>> {
        // A generator would take the seed.
        let has = name == "penalties" || name == "dist";
        has.then(|| {
            Box::new(WithHistory {
                of: self.clone(),
                name: name.to_string(),
                tokens: Vec::new(),
            }) as Box<dyn Instance>
        })
    }
}

#[derive(Clone)]
struct WithHistory {
    of: SmallSampler,
    name: String,
    tokens: Vec<i32>,
}

impl Instance for WithHistory {
    fn apply(&mut self, test: &Test) -> Outcome {
        let test = Test {
            tokens: self.tokens.clone(),
            ..test.clone()
        };
        self.of.sample(&self.name, &test).unwrap()
    }

    fn accept(&mut self, token: i32) {
        self.tokens.push(token);
    }

    fn reset(&mut self) {
        if self.of.fault != "reset" {
            self.tokens.clear();
        }
    }

    fn boxed_clone(&self) -> Box<dyn Instance> {
        Box::new(self.clone())
    }
}

impl SmallSampler {
    /// Returns how many of the largest logits stay; None for another sampler.
    fn survivors(&self, name: &str, test: &Test, logits: &[f64], order: &[usize]) -> Option<usize> {
        let of = |key, default| parameter(test, key, default);
        let least = of("min_keep", 0.0).max(1.0) as usize;
        match name {
            "temp" => Some(1),
            "top_k" => {
                let k = of("k", 40.0);
                let k = if k > 0.0 {
                    order.len().min(k as usize)
                } else {
                    order.len()
                };
                if self.fault == "ties" {
                    return Some(
                        logits
                            .iter()
                            .filter(|&&x| x >= logits[order[k - 1]])
                            .count(),
                    );
                }
                Some(k)
            }
            "top_p" if of("p", 0.95) < 1.0 => {
                let (shares, mut mass) = (probabilities(logits), 0.0);
                for (n, &i) in order.iter().enumerate() {
                    mass += shares[i];
                    if mass >= of("p", 0.95) {
                        let kept = if self.fault == "crossing" { n } else { n + 1 };
                        return Some(kept.max(least));
                    }
                }
                Some(order.len())
            }
            "min_p" if of("p", 0.05) > 1.0 => Some(least),
            "min_p" if of("p", 0.05) > 0.0 => {
                let cut = logits[order[0]] + of("p", 0.05).ln();
                Some(logits.iter().filter(|&&x| x >= cut).count().max(least))
            }
            "top_p" | "min_p" => Some(order.len()),
            _ => None,
        }
    }

    fn penalized(&self, test: &Test, logits: &[f64]) -> Vec<f64> {
        let of = |key, default| parameter(test, key, default);
        let last = test
            .tokens
            .len()
            .min(of("penalty_last_n", 64.0).max(0.0) as usize);
        let window = &test.tokens[test.tokens.len() - last..];
        let repeat = of("penalty_repeat", 1.0);
        let mut left = Vec::new();
        for (i, &logit) in test.ids.iter().zip(logits) {
            let mut x = logit;
            let count = window.iter().filter(|&token| token == i).count();
            if count > 0 {
                x = if x <= 0.0 { x * repeat } else { x / repeat };
                let times = if self.fault == "once" { count } else { 1 };
                x -= count as f64 * of("penalty_freq", 0.0);
                x -= times as f64 * of("penalty_present", 0.0);
            }
            left.push(x);
        }
        left
    }
}

fn outcome(ids: &[i32], logits: &[f64], token: Option<i32>) -> Option<Outcome> {
    let logits = logits.iter().map(|&x| x as f32).collect();
    Some(Outcome {
        ids: ids.to_vec(),
        logits,
        token,
        ..Outcome::default()
    })
}

fn parameter(test: &Test, key: &str, default: f64) -> f64 {
    test.parameters.get(key).map_or(default, Json::number)
}

fn probabilities(logits: &[f64]) -> Vec<f64> {
    let max = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logits.iter().map(|x| (x - max).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

fn drawn(shares: &[f64], u: f64) -> usize {
    let mut mass = 0.0;
    for (i, share) in shares.iter().enumerate() {
        mass += share;
        if u < mass {
            return i;
        }
    }
    shares.iter().rposition(|&share| share > 0.0).unwrap_or(0)
}
