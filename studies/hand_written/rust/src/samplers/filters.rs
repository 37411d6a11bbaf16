//! Samplers that remove or mask candidates.

use super::{Given, Sampler};
use crate::candidates::{Candidates, Done, Refusal};
use crate::mistake::mistake;
use crate::random::Random;

#[derive(Clone)]
pub struct TopK {
    k: i64,
}

impl TopK {
    pub fn new(given: &Given) -> Result<Self, Refusal> {
        Ok(TopK { k: given.int("k", 40)? })
    }
}

impl Sampler for TopK {
    fn apply(&mut self, c: &mut Candidates) -> Done {
        if self.k <= 0 || c.items.is_empty() {
            return Ok(());
        }
        c.sort()?;
        let mut keep = c.len().min(self.k as usize);
        if mistake("top-k-keeps-ties") {
            let threshold = c.items[keep - 1].logit;
            keep = c.items.iter().take_while(|x| x.logit >= threshold).count();
        }
        c.items.truncate(keep);
        Ok(())
    }

    fn copy(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[derive(Clone)]
pub struct TopP {
    p: f32,
    min_keep: usize,
}

impl TopP {
    pub fn new(given: &Given) -> Result<Self, Refusal> {
        Ok(TopP { p: given.float("p", 0.95)?, min_keep: given.count("min_keep")? })
    }
}

impl Sampler for TopP {
    fn apply(&mut self, c: &mut Candidates) -> Done {
        if self.p >= 1.0 {
            return Ok(());
        }
        c.need_some("top_p")?;
        let have_p = c.items.iter().any(|x| x.p > 0.0);
        if !(mistake("top-p-stale-probabilities") && have_p) {
            c.softmax();
        }
        c.sort()?;
        let mut mass = 0.0f32;
        let mut keep = c.len();
        for (i, x) in c.items.iter().enumerate() {
            mass += x.p;
            if mass >= self.p && i + 1 >= self.min_keep {
                keep = i + 1;
                break;
            }
        }
        c.items.truncate(keep);
        Ok(())
    }

    fn copy(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[derive(Clone)]
pub struct MinP {
    p: f32,
    min_keep: usize,
}

impl MinP {
    pub fn new(given: &Given) -> Result<Self, Refusal> {
        Ok(MinP { p: given.float("p", 0.05)?, min_keep: given.count("min_keep")? })
    }

    fn smallest_logit(&self, c: &Candidates) -> f32 {
        let max = c.max_logit();
        if mistake("min-p-absolute-threshold") {
            let sum = c.items.iter().fold(0.0f32, |sum, x| sum + (x.logit - max).exp());
            return max + sum.ln() + self.p.ln();
        }
        max + self.p.ln()
    }
}

impl Sampler for MinP {
    fn apply(&mut self, c: &mut Candidates) -> Done {
        if self.p <= 0.0 || c.items.is_empty() {
            return Ok(());
        }
        if !c.sorted {
            let smallest = self.smallest_logit(c);
            let enough = c.items.iter().filter(|x| x.logit >= smallest).count();
            let all_banned = c.items.iter().all(|x| x.logit == f32::NEG_INFINITY);
            if enough > 0 && enough >= self.min_keep && !all_banned {
                c.items.retain(|x| x.logit >= smallest);
                return Ok(());
            }
        }
        // Sorted, or too few pass: the first stays in any case, and min_keep of them.
        c.sort()?;
        let smallest = self.smallest_logit(c);
        let mut keep = 1;
        while keep < c.len() && (c.items[keep].logit >= smallest || keep < self.min_keep) {
            keep += 1;
        }
        c.items.truncate(keep);
        Ok(())
    }

    fn copy(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[derive(Clone)]
pub struct TypicalP {
    p: f32,
    min_keep: usize,
}

impl TypicalP {
    pub fn new(given: &Given) -> Result<Self, Refusal> {
        Ok(TypicalP { p: given.float("p", 1.0)?, min_keep: given.count("min_keep")? })
    }
}

impl Sampler for TypicalP {
    fn apply(&mut self, c: &mut Candidates) -> Done {
        if self.p >= 1.0 {
            return Ok(());
        }
        c.need_some("typical_p")?;
        c.sort()?;
        c.softmax();
        let mut entropy = 0.0f32;
        for x in &c.items {
            let log = if mistake("typical-p-entropy-in-bits") { x.p.log2() } else { x.p.ln() };
            entropy -= x.p * log;
        }
        let mut by_distance: Vec<(f32, usize)> =
            c.items.iter().enumerate().map(|(i, x)| ((-x.p.ln() - entropy).abs(), i)).collect();
        if !entropy.is_nan() {
            by_distance.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        let mut mass = 0.0f32;
        let mut keep = c.len();
        for (i, &(_, at)) in by_distance.iter().enumerate() {
            mass += c.items[at].p;
            if mass > self.p && i + 1 >= self.min_keep {
                keep = i + 1;
                break;
            }
        }
        c.items = by_distance[..keep].iter().map(|&(_, at)| c.items[at]).collect();
        c.sorted = false;
        Ok(())
    }

    fn copy(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[derive(Clone)]
pub struct Xtc {
    probability: f32,
    threshold: f32,
    min_keep: usize,
    random: Random,
}

impl Xtc {
    pub fn new(given: &Given) -> Result<Self, Refusal> {
        Ok(Xtc {
            probability: given.float("p", 0.0)?,
            threshold: given.float("t", 0.1)?,
            min_keep: given.count("min_keep")?,
            random: Random::new(given.int("seed", 0)? as u64, given.place),
        })
    }
}

impl Sampler for Xtc {
    fn apply(&mut self, c: &mut Candidates) -> Done {
        if self.probability <= 0.0 || self.threshold > 0.5 || c.len() < 2 {
            return Ok(());
        }
        let chance = self.random.uniform();
        let skip = if mistake("xtc-complement-probability") {
            chance < self.probability
        } else {
            chance > self.probability
        };
        if skip {
            return Ok(());
        }
        c.sort()?;
        c.softmax();
        let top = c.items.iter().take_while(|x| x.p >= self.threshold).count();
        let remove = top.saturating_sub(1);
        if c.len() - remove >= self.min_keep {
            c.items.drain(..remove);
        }
        Ok(())
    }

    fn reset(&mut self) {
        self.random.restart();
    }

    fn copy(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[derive(Clone)]
pub struct TopNSigma {
    n: f32,
}

impl TopNSigma {
    pub fn new(given: &Given) -> Result<Self, Refusal> {
        Ok(TopNSigma { n: given.float("n", -1.0)? })
    }
}

impl Sampler for TopNSigma {
    fn apply(&mut self, c: &mut Candidates) -> Done {
        if self.n <= 0.0 || c.len() <= 1 {
            return Ok(());
        }
        let possible = || c.items.iter().map(|x| x.logit).filter(|&x| x != f32::NEG_INFINITY);
        let count = possible().count();
        if count == 0 {
            return Ok(());
        }
        let max = possible().fold(f32::NEG_INFINITY, |max, x| if x > max { x } else { max });
        let mean = possible().fold(0.0f32, |sum, x| sum + x) / count as f32;
        let squares = possible().fold(0.0f32, |sum, x| sum + (x - mean) * (x - mean));
        let degrees = if mistake("top-n-sigma-sample-deviation") { count - 1 } else { count };
        let deviation = (squares / degrees as f32).sqrt();
        let smallest = max - self.n * deviation;
        for x in &mut c.items {
            if x.logit < smallest {
                x.logit = f32::NEG_INFINITY;
            }
        }
        Ok(())
    }

    fn copy(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}
