//! Samplers that change logits by what was accepted, or by a list of tokens.

use std::collections::{HashMap, VecDeque};

use super::{Given, Sampler};
use crate::candidates::{rejected, unsupported, Candidates, Done, Refusal};
use crate::json::Json;
use crate::mistake::mistake;

#[derive(Clone)]
pub struct Penalties {
    last_n: usize,
    repeat: f32,
    freq: f32,
    present: f32,
    window: VecDeque<i32>,
    counts: HashMap<i32, u32>,
}

impl Penalties {
    pub fn new(given: &Given) -> Result<Self, Refusal> {
        Ok(Penalties {
            last_n: given.int("penalty_last_n", 64)?.max(0) as usize,
            repeat: given.float("penalty_repeat", 1.0)?,
            freq: given.float("penalty_freq", 0.0)?,
            present: given.float("penalty_present", 0.0)?,
            window: VecDeque::new(),
            counts: HashMap::new(),
        })
    }
}

impl Sampler for Penalties {
    fn apply(&mut self, c: &mut Candidates) -> Done {
        let off = self.repeat == 1.0 && self.freq == 0.0 && self.present == 0.0;
        if self.last_n == 0 || off || c.items.is_empty() {
            return Ok(());
        }
        for x in &mut c.items {
            let Some(&count) = self.counts.get(&x.id) else { continue };
            let subtract = count as f32 * self.freq + self.present;
            if mistake("penalties-subtract-before-repeat") {
                x.logit -= subtract;
                x.logit = if x.logit <= 0.0 { x.logit * self.repeat } else { x.logit / self.repeat };
                continue;
            }
            x.logit = if x.logit <= 0.0 { x.logit * self.repeat } else { x.logit / self.repeat };
            x.logit -= subtract;
        }
        c.sorted = false;
        Ok(())
    }

    fn accept(&mut self, token: i32) {
        if self.last_n == 0 {
            return;
        }
        if self.window.len() == self.last_n {
            let oldest = self.window.pop_front().unwrap();
            let count = self.counts.get_mut(&oldest).unwrap();
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&oldest);
            }
        }
        self.window.push_back(token);
        *self.counts.entry(token).or_insert(0) += 1;
    }

    fn reset(&mut self) {
        self.window.clear();
        if !mistake("penalties-counts-survive-reset") {
            self.counts.clear();
        }
    }

    fn copy(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[derive(Clone)]
pub struct LogitBias {
    biases: Vec<(i32, f32)>,
}

impl LogitBias {
    pub fn new(given: &Given) -> Result<Self, Refusal> {
        let mut biases = Vec::new();
        for pair in given.get("logit_bias").and_then(Json::list).unwrap_or(&[]) {
            match pair.list() {
                Some([token, bias]) => match (token.int(), bias.real()) {
                    (Some(token), Some(bias)) => biases.push((token as i32, bias as f32)),
                    _ => return Err(rejected("logit_bias: a pair is (token, bias)")),
                },
                _ => return Err(rejected("logit_bias: a pair is (token, bias)")),
            }
        }
        Ok(LogitBias { biases })
    }
}

impl Sampler for LogitBias {
    fn apply(&mut self, c: &mut Candidates) -> Done {
        // Most tokens are at their own place; the rest is searched.
        let mut elsewhere: HashMap<i32, f32> = HashMap::new();
        for &(token, bias) in &self.biases {
            let at = usize::try_from(token).unwrap_or(usize::MAX);
            match c.items.get_mut(at) {
                Some(x) if x.id == token || mistake("logit-bias-by-position") => x.logit += bias,
                _ => {
                    // Of a token that is named twice only the first bias counts here.
                    elsewhere.entry(token).or_insert(bias);
                }
            }
        }
        if !elsewhere.is_empty() {
            for x in &mut c.items {
                if let Some(bias) = elsewhere.get(&x.id) {
                    x.logit += bias;
                }
            }
        }
        Ok(())
    }

    fn copy(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

/// A sequence of tokens that ends the search for repetitions.
#[derive(Clone)]
struct Breaker {
    head: i32,
    tail: Vec<i32>,
}

#[derive(Clone)]
pub struct Dry {
    multiplier: f32,
    base: f32,
    allowed: i64,
    last_n: usize,
    breakers: Vec<Breaker>,
    /// Newest first.
    window: VecDeque<i32>,
}

impl Dry {
    pub fn new(given: &Given) -> Result<Self, Refusal> {
        Ok(Dry {
            multiplier: given.float("dry_multiplier", 0.0)?,
            base: given.float("dry_base", 1.75)?,
            allowed: given.int("dry_allowed_length", 2)?,
            last_n: given.int("dry_penalty_last_n", 64)?.max(0) as usize,
            breakers: read_breakers(given.get("seq_breakers"))?,
            window: VecDeque::new(),
        })
    }

    /// The longest repetition that may count: what a breaker leaves of the window.
    fn limit(&self) -> usize {
        for (i, &token) in self.window.iter().enumerate() {
            let longest = self
                .breakers
                .iter()
                .filter(|b| b.head == token && b.tail.len() <= i)
                .filter(|b| b.tail.iter().enumerate().all(|(j, &t)| self.window[i - 1 - j] == t))
                .map(|b| b.tail.len())
                .max();
            if let Some(tail) = longest {
                return i - tail;
            }
        }
        self.window.len()
    }

    fn breaks_alone(&self, token: i32) -> bool {
        self.breakers.iter().any(|b| b.head == token && b.tail.is_empty())
    }
}

fn read_breakers(list: Option<&Json>) -> Result<Vec<Breaker>, Refusal> {
    let mut breakers = Vec::new();
    for breaker in list.and_then(Json::list).unwrap_or(&[]) {
        let tokens = match breaker {
            Json::Null => continue,
            Json::Text(t) if t.is_empty() => continue,
            Json::Text(_) => return Err(unsupported("dry: breakers that are strings need a vocabulary")),
            other => other.list().ok_or_else(|| rejected("dry: a breaker is no list"))?,
        };
        let tokens: Vec<i32> = tokens.iter().filter_map(Json::int).map(|t| t as i32).collect();
        if let Some((&head, tail)) = tokens.split_first() {
            let tail = if mistake("dry-breaker-head-only") { Vec::new() } else { tail.to_vec() };
            breakers.push(Breaker { head, tail });
        }
    }
    Ok(breakers)
}

/// For each k, how many tokens from k on equal those from 0 on (the Z function).
fn common_prefixes(tokens: &[i32]) -> Vec<usize> {
    let n = tokens.len();
    let mut z = vec![0; n];
    let (mut left, mut right) = (0, 0); // the match that reaches furthest: [left, right)
    for k in 1..n {
        let mut same = if k < right { z[k - left].min(right - k) } else { 0 };
        while k + same < n && tokens[same] == tokens[k + same] {
            same += 1;
        }
        z[k] = same;
        if k + same > right {
            (left, right) = (k, k + same);
        }
    }
    z
}

impl Sampler for Dry {
    fn apply(&mut self, c: &mut Candidates) -> Done {
        if self.multiplier == 0.0 || self.base < 1.0 || self.last_n == 0 || c.items.is_empty() {
            return Ok(());
        }
        let n = self.window.len();
        if n as i64 <= self.allowed {
            return Ok(());
        }
        let limit = self.limit();
        if (limit as i64) < self.allowed {
            return Ok(());
        }
        // The newest tokens stand in front, so a match from k on is an earlier copy, and k - 1 is what followed it.
        let newest_first: Vec<i32> = self.window.iter().copied().collect();
        let same = common_prefixes(&newest_first);
        let mut longest: HashMap<i32, i64> = HashMap::new();
        for k in 1..n {
            let length = same[k].min(limit) as i64;
            if length >= self.allowed {
                let best = longest.entry(newest_first[k - 1]).or_insert(length);
                *best = length.max(*best);
            }
        }
        // Beyond this exponent the power leaves float32.
        let largest = if self.base > 1.000001 { (f32::MAX.ln() / self.base.ln()) as i64 } else { 0 };
        for x in &mut c.items {
            let Some(&length) = longest.get(&x.id) else { continue };
            if self.breaks_alone(x.id) {
                continue;
            }
            let mut exponent = length - self.allowed;
            if largest > 0 && exponent > largest {
                exponent = largest;
            }
            x.logit -= self.multiplier * self.base.powf(exponent as f32);
        }
        c.sorted = false;
        Ok(())
    }

    fn accept(&mut self, token: i32) {
        if self.last_n == 0 {
            return;
        }
        if self.window.len() == self.last_n {
            self.window.pop_back();
        }
        self.window.push_front(token);
    }

    fn reset(&mut self) {
        self.window.clear();
    }

    fn copy(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}
