//! Samplers that select a token.

use super::{Given, Sampler};
use crate::candidates::{rejected, Candidates, Done, Refusal};
use crate::mistake::mistake;
use crate::random::Random;

#[derive(Clone)]
pub struct Greedy;

impl Sampler for Greedy {
    fn apply(&mut self, c: &mut Candidates) -> Done {
        c.need_some("greedy")?;
        c.selected = Some(c.first_largest());
        Ok(())
    }

    fn copy(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

fn generator(given: &Given) -> Result<Random, Refusal> {
    Ok(Random::new(given.int("seed", 0xffff_ffff)? as u64, given.place))
}

#[derive(Clone)]
pub struct Dist {
    random: Random,
}

impl Dist {
    pub fn new(given: &Given) -> Result<Self, Refusal> {
        Ok(Dist { random: generator(given)? })
    }
}

impl Sampler for Dist {
    fn apply(&mut self, c: &mut Candidates) -> Done {
        if c.items.is_empty() {
            c.selected = None;
            return Ok(());
        }
        let sum = c.exponentials();
        let goal = self.random.uniform() * sum;
        let mut running = 0.0f32;
        let mut selected = c.len() - 1;
        for (i, x) in c.items.iter().enumerate() {
            running += x.p;
            if running >= goal {
                selected = i;
                break;
            }
        }
        for x in &mut c.items {
            x.p /= sum;
        }
        c.selected = Some(selected);
        Ok(())
    }

    fn reset(&mut self) {
        self.random.restart();
    }

    fn copy(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

/// The moving bound of both mirostats, in bits.
#[derive(Clone)]
struct Surprise {
    tau: f32,
    eta: f32,
    mu: f32,
}

impl Surprise {
    fn new(given: &Given) -> Result<Self, Refusal> {
        let tau = given.float("tau", 5.0)?;
        Ok(Surprise { tau, eta: given.float("eta", 0.1)?, mu: 2.0 * tau })
    }

    fn observe(&mut self, p: f32) {
        self.mu -= self.eta * (-p.log2() - self.tau);
    }

    fn reset(&mut self) {
        self.mu = 2.0 * self.tau;
    }
}

#[derive(Clone)]
pub struct Mirostat {
    surprise: Surprise,
    m: i64,
    n_vocab: i64,
    random: Random,
}

impl Mirostat {
    pub fn new(given: &Given) -> Result<Self, Refusal> {
        Ok(Mirostat {
            surprise: Surprise::new(given)?,
            m: given.int("m", 100)?,
            n_vocab: given.int("n_vocab", given.n_vocab as i64)?,
            random: generator(given)?,
        })
    }

    /// How many candidates to keep, from the slope of the sorted candidates.
    fn k(&self, c: &Candidates) -> usize {
        let pairs = c.len() - 1;
        let pairs = if self.m <= 0 { pairs } else { pairs.min(self.m as usize - 1) };
        let mut tb = 0.0f32;
        let mut tt = 0.0f32;
        for i in 0..pairs {
            let t = ((i + 2) as f32 / (i + 1) as f32).ln();
            let b = (c.items[i].p / c.items[i + 1].p).ln();
            tb += t * b;
            tt += t * t;
        }
        let s = tb / tt;
        let e = s - 1.0;
        let k = (e * 2.0f32.powf(self.surprise.mu) / (1.0 - (self.n_vocab as f32).powf(-e))).powf(1.0 / s);
        // NaN and what does not fit int32 mean 1.
        if k >= 1.0 && k < 2_147_483_648.0 { k as usize } else { 1 }
    }
}

impl Sampler for Mirostat {
    fn apply(&mut self, c: &mut Candidates) -> Done {
        c.need_some("mirostat")?;
        c.sort()?;
        c.softmax();
        let k = self.k(c);
        c.items.truncate(k);
        c.softmax();
        let selected = c.draw_by_p(&mut self.random);
        c.selected = Some(selected);
        self.surprise.observe(c.items[selected].p);
        Ok(())
    }

    fn reset(&mut self) {
        self.surprise.reset();
        self.random.restart();
    }

    fn copy(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[derive(Clone)]
pub struct MirostatV2 {
    surprise: Surprise,
    random: Random,
}

impl MirostatV2 {
    pub fn new(given: &Given) -> Result<Self, Refusal> {
        Ok(MirostatV2 { surprise: Surprise::new(given)?, random: generator(given)? })
    }
}

impl Sampler for MirostatV2 {
    fn apply(&mut self, c: &mut Candidates) -> Done {
        c.need_some("mirostat_v2")?;
        c.sort()?;
        c.softmax();
        let mu = self.surprise.mu;
        let keep = c.items.iter().position(|x| -x.p.log2() > mu).unwrap_or(c.len()).max(1);
        c.items.truncate(keep);
        let before: Vec<f32> = c.items.iter().map(|x| x.p).collect();
        c.softmax();
        let selected = c.draw_by_p(&mut self.random);
        c.selected = Some(selected);
        let before_cut = mistake("mirostat-v2-surprise-before-renormalization");
        self.surprise.observe(if before_cut { before[selected] } else { c.items[selected].p });
        Ok(())
    }

    fn reset(&mut self) {
        self.surprise.reset();
        self.random.restart();
    }

    fn copy(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[derive(Clone)]
pub struct AdaptiveP {
    first: f32,
    target: f32,
    decay: f32,
    weighted_sum: f32,
    total_weight: f32,
    /// The token that was drawn and not yet accepted, with its probability before the transform.
    pending: Option<(i32, f32)>,
    random: Random,
}

impl AdaptiveP {
    const WIDTH: f32 = 0.3;
    const PEAK: f32 = 5.0;
    const SHARPNESS: f32 = 10.0;

    pub fn new(given: &Given) -> Result<Self, Refusal> {
        let target = given.float("target", -1.0)?;
        if target.is_nan() {
            return Err(rejected("adaptive_p: the target is NaN"));
        }
        let mut sampler = AdaptiveP {
            first: target,
            target: target.min(1.0),
            decay: given.float("decay", 0.9)?.clamp(0.0, 0.99),
            weighted_sum: 0.0,
            total_weight: 0.0,
            pending: None,
            random: generator(given)?,
        };
        sampler.start();
        Ok(sampler)
    }

    /// As if every token of an endless history had met the target.
    fn start(&mut self) {
        self.weighted_sum = self.first / (1.0 - self.decay);
        self.total_weight = 1.0 / (1.0 - self.decay);
        self.pending = None;
    }
}

impl Sampler for AdaptiveP {
    fn apply(&mut self, c: &mut Candidates) -> Done {
        c.need_some("adaptive_p")?;
        c.softmax();
        if self.target < 0.0 {
            c.selected = Some(c.draw_by_p(&mut self.random));
            return Ok(());
        }
        let original: Vec<f32> = c.items.iter().map(|x| x.p).collect();
        let target = (2.0 * self.target - self.weighted_sum / self.total_weight).clamp(0.0, 1.0);
        for x in &mut c.items {
            if x.logit != f32::NEG_INFINITY {
                let d = (x.p - target).abs() / Self::WIDTH;
                x.logit = Self::PEAK - Self::SHARPNESS * d * d / (1.0 + d);
            }
        }
        c.sorted = false;
        c.softmax();
        let selected = c.draw_by_p(&mut self.random);
        c.selected = Some(selected);
        let x = c.items[selected];
        let recorded = if mistake("adaptive-p-records-transformed") { x.p } else { original[selected] };
        self.pending = Some((x.id, recorded));
        Ok(())
    }

    fn accept(&mut self, token: i32) {
        if let Some((drawn, p)) = self.pending.take() {
            if drawn == token {
                self.weighted_sum = p + self.decay * self.weighted_sum;
                self.total_weight = 1.0 + self.decay * self.total_weight;
            }
        }
    }

    fn reset(&mut self) {
        self.start();
        self.random.restart();
    }

    fn copy(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}
