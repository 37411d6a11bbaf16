//! temp and temp_ext.

use super::{Given, Sampler};
use crate::candidates::{Candidates, Done, Refusal};
use crate::mistake::mistake;

/// Divides the logits; at 0 and below only the first of the largest stays possible.
fn scale(c: &mut Candidates, temp: f32) {
    if c.items.is_empty() {
        return;
    }
    if temp > 0.0 {
        c.items.iter_mut().for_each(|x| x.logit /= temp);
        return;
    }
    let best = c.first_largest();
    for (i, x) in c.items.iter_mut().enumerate() {
        if i != best {
            x.logit = f32::NEG_INFINITY;
        }
    }
}

#[derive(Clone)]
pub struct Temp {
    temp: f32,
}

impl Temp {
    pub fn new(given: &Given) -> Result<Self, Refusal> {
        Ok(Temp { temp: given.float("temp", 1.0)? })
    }
}

impl Sampler for Temp {
    fn apply(&mut self, c: &mut Candidates) -> Done {
        if self.temp != 1.0 {
            scale(c, self.temp);
        }
        Ok(())
    }

    fn copy(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[derive(Clone)]
pub struct TempExt {
    temp: f32,
    delta: f32,
    exponent: f32,
    n_vocab: usize,
}

impl TempExt {
    pub fn new(given: &Given) -> Result<Self, Refusal> {
        Ok(TempExt {
            temp: given.float("temp", 1.0)?,
            delta: given.float("delta", 0.0)?,
            exponent: given.float("exponent", 1.0)?,
            n_vocab: given.n_vocab,
        })
    }
}

impl Sampler for TempExt {
    fn apply(&mut self, c: &mut Candidates) -> Done {
        if self.delta <= 0.0 {
            if self.temp != 1.0 {
                scale(c, self.temp);
            }
            return Ok(());
        }
        if c.len() <= 1 {
            return Ok(());
        }
        c.sort()?;
        c.softmax();
        let mut entropy = 0.0f32;
        for x in &c.items {
            if x.p > 0.0 {
                entropy -= x.p * x.p.ln();
            }
        }
        let n = if mistake("temp-ext-entropy-over-vocabulary") { self.n_vocab } else { c.len() };
        let normalized = entropy / (n as f32).ln();
        let low = (self.temp - self.delta).max(0.0);
        let high = self.temp + self.delta;
        scale(c, low + (high - low) * normalized.powf(self.exponent));
        c.softmax();
        Ok(())
    }

    fn copy(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}
