//! The scratch file: arrays at byte offsets, little-endian.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

use crate::candidates::{rejected, Candidates, Refusal};

pub struct Scratch {
    file: File,
}

impl Scratch {
    pub fn open(path: &str) -> Result<Scratch, Refusal> {
        let file = OpenOptions::new().read(true).write(true).open(path);
        file.map(|file| Scratch { file }).map_err(|e| rejected(&format!("scratch file: {e}")))
    }

    pub fn read_floats(&self, at: u64, n: usize) -> Result<Vec<f32>, Refusal> {
        let mut bytes = vec![0; 4 * n];
        self.file.read_exact_at(&mut bytes, at).map_err(|e| rejected(&format!("rows: {e}")))?;
        Ok(bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.file.write_all_at(bytes, at).map_err(|e| rejected(&format!("scratch file: {e}")))
    }

    pub fn write_ints(&self, at: u64, values: &[i32]) -> Result<(), Refusal> {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.write(at, &bytes)
    }

    /// Ids, then logits, then p. Returns the offset behind them.
    pub fn write_candidates(&self, at: u64, c: &Candidates) -> Result<u64, Refusal> {
        let mut bytes = Vec::with_capacity(12 * c.len());
        bytes.extend(c.items.iter().flat_map(|x| x.id.to_le_bytes()));
        bytes.extend(c.items.iter().flat_map(|x| x.logit.to_le_bytes()));
        bytes.extend(c.items.iter().flat_map(|x| x.p.to_le_bytes()));
        self.write(at, &bytes)?;
        Ok(at + bytes.len() as u64)
    }
}
