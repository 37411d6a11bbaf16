//! The candidates and what several samplers do with them. All arithmetic is float32, sums are in order.

use crate::random::Random;

/// Why a request is refused.
#[derive(Debug)]
pub struct Refusal {
    pub kind: &'static str,
    pub message: String,
}

pub fn rejected(message: &str) -> Refusal {
    Refusal { kind: "rejected", message: message.to_string() }
}

pub fn unsupported(message: &str) -> Refusal {
    Refusal { kind: "unsupported", message: message.to_string() }
}

pub type Done = Result<(), Refusal>;

#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub id: i32,
    pub logit: f32,
    pub p: f32,
}

#[derive(Clone, Debug)]
pub struct Candidates {
    pub items: Vec<Candidate>,
    /// Known to be in descending order of their logits.
    pub sorted: bool,
    pub selected: Option<usize>,
}

impl Candidates {
    pub fn from_row(row: &[f32]) -> Candidates {
        let items = row.iter().enumerate().map(|(i, &logit)| Candidate { id: i as i32, logit, p: 0.0 }).collect();
        Candidates { items, sorted: false, selected: None }
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn need_some(&self, sampler: &str) -> Done {
        if self.items.is_empty() { Err(rejected(&format!("{sampler}: no candidates"))) } else { Ok(()) }
    }

    /// Descending by logit; equal logits keep their order.
    pub fn sort(&mut self) -> Done {
        if self.sorted {
            return Ok(());
        }
        if self.items.iter().any(|c| c.logit.is_nan()) {
            return Err(rejected("a NaN logit cannot be sorted"));
        }
        self.items.sort_by(|a, b| b.logit.partial_cmp(&a.logit).unwrap());
        self.sorted = true;
        Ok(())
    }

    pub fn max_logit(&self) -> f32 {
        let first = self.items[0].logit;
        if self.sorted {
            return first;
        }
        self.items.iter().fold(first, |max, c| if c.logit > max { c.logit } else { max })
    }

    /// p = exp(logit - max), and their sum.
    pub fn exponentials(&mut self) -> f32 {
        let max = self.max_logit();
        let mut sum = 0.0f32;
        for c in &mut self.items {
            c.p = (c.logit - max).exp();
            sum += c.p;
        }
        sum
    }

    /// Gives each candidate its probability among the candidates. The order stays.
    pub fn softmax(&mut self) {
        if self.items.is_empty() {
            return;
        }
        let sum = self.exponentials();
        for c in &mut self.items {
            c.p /= sum;
        }
    }

    /// The first place at which the running sum of p reaches a random part of all p.
    pub fn draw_by_p(&self, random: &mut Random) -> usize {
        if self.len() == 1 {
            return 0;
        }
        let sum = self.items.iter().fold(0.0f32, |sum, c| sum + c.p);
        let goal = random.uniform() * sum;
        let mut running = 0.0f32;
        for (i, c) in self.items.iter().enumerate() {
            running += c.p;
            if running >= goal {
                return i;
            }
        }
        self.len() - 1
    }

    /// The first of the largest logits. A NaN in front stays the largest.
    pub fn first_largest(&self) -> usize {
        let mut best = 0;
        for (i, c) in self.items.iter().enumerate() {
            if c.logit > self.items[best].logit {
                best = i;
            }
        }
        best
    }
}
