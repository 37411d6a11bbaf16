//! The samplers, under llama.cpp's names, and the chain that they form.

mod draws;
mod filters;
mod history;
mod temperature;

use crate::candidates::{rejected, unsupported, Candidates, Done, Refusal};
use crate::json::Json;

pub const NAMES: [&str; 16] = [
    "top_k", "top_p", "min_p", "typical_p", "temp", "temp_ext", "xtc", "top_n_sigma", "penalties", "logit_bias", "dry",
    "greedy", "dist", "mirostat", "mirostat_v2", "adaptive_p",
];

pub trait Sampler {
    fn apply(&mut self, c: &mut Candidates) -> Done;
    fn accept(&mut self, _token: i32) {}
    fn reset(&mut self) {}
    fn copy(&self) -> Box<dyn Sampler>;
}

/// What a stage is built from: its parameters, and what it has to know of its surroundings.
pub struct Given<'a> {
    parameters: &'a Json,
    pub n_vocab: usize,
    pub place: u64,
}

impl Given<'_> {
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.parameters.get(name)
    }

    pub fn float(&self, name: &str, default: f32) -> Result<f32, Refusal> {
        match self.get(name) {
            None => Ok(default),
            Some(value) => value.real().map(|x| x as f32).ok_or_else(|| rejected(&format!("{name} is no number"))),
        }
    }

    pub fn int(&self, name: &str, default: i64) -> Result<i64, Refusal> {
        match self.get(name) {
            None => Ok(default),
            Some(value) => value.int().ok_or_else(|| rejected(&format!("{name} is no whole number"))),
        }
    }

    pub fn count(&self, name: &str) -> Result<usize, Refusal> {
        Ok(self.int(name, 0)?.max(0) as usize)
    }
}

pub struct Chain {
    pub stages: Vec<Box<dyn Sampler>>,
}

impl Clone for Chain {
    fn clone(&self) -> Chain {
        Chain { stages: self.stages.iter().map(|s| s.copy()).collect() }
    }
}

impl Chain {
    pub fn build(spec: &Json, n_vocab: usize) -> Result<Chain, Refusal> {
        let mut stages = Vec::new();
        for (place, stage) in spec.list().ok_or_else(|| rejected("the chain is no list"))?.iter().enumerate() {
            let Json::Map(fields) = stage else { return Err(rejected("a stage is no map")) };
            let [(name, parameters)] = fields.as_slice() else { return Err(rejected("a stage has one name")) };
            let given = Given { parameters, n_vocab, place: place as u64 };
            stages.push(build_stage(name, &given)?);
        }
        Ok(Chain { stages })
    }

    pub fn accept(&mut self, token: i32) {
        self.stages.iter_mut().for_each(|s| s.accept(token));
    }

    pub fn reset(&mut self) {
        self.stages.iter_mut().for_each(|s| s.reset());
    }
}

fn build_stage(name: &str, given: &Given) -> Result<Box<dyn Sampler>, Refusal> {
    Ok(match name {
        "top_k" => Box::new(filters::TopK::new(given)?),
        "top_p" => Box::new(filters::TopP::new(given)?),
        "min_p" => Box::new(filters::MinP::new(given)?),
        "typical_p" => Box::new(filters::TypicalP::new(given)?),
        "xtc" => Box::new(filters::Xtc::new(given)?),
        "top_n_sigma" => Box::new(filters::TopNSigma::new(given)?),
        "temp" => Box::new(temperature::Temp::new(given)?),
        "temp_ext" => Box::new(temperature::TempExt::new(given)?),
        "penalties" => Box::new(history::Penalties::new(given)?),
        "logit_bias" => Box::new(history::LogitBias::new(given)?),
        "dry" => Box::new(history::Dry::new(given)?),
        "greedy" => Box::new(draws::Greedy),
        "dist" => Box::new(draws::Dist::new(given)?),
        "mirostat" => Box::new(draws::Mirostat::new(given)?),
        "mirostat_v2" => Box::new(draws::MirostatV2::new(given)?),
        "adaptive_p" => Box::new(draws::AdaptiveP::new(given)?),
        _ => return Err(unsupported(&format!("no sampler {name}"))),
    })
}
