//! xoshiro256++, the generator of rand's SmallRng, seeded by SplitMix64.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// This seed asks for a random one, at every reset anew.
const RANDOM_SEED: u64 = 0xffff_ffff;

#[derive(Clone)]
pub struct Random {
    seed: u64,
    /// The place of the stage in its chain, so that two stages with one seed have different streams.
    stream: u64,
    state: [u64; 4],
}

impl Random {
    pub fn new(seed: u64, stream: u64) -> Random {
        let mut random = Random { seed, stream, state: [0; 4] };
        random.restart();
        random
    }

    pub fn restart(&mut self) {
        let seed = if self.seed == RANDOM_SEED { RandomState::new().build_hasher().finish() } else { self.seed };
        let mut x = seed ^ self.stream.wrapping_mul(0xd134_2543_de82_ef95);
        for word in &mut self.state {
            x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = x;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            *word = z ^ (z >> 31);
        }
    }

    fn next(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A float32 in (0, 1], a multiple of 2^-24. Never 0, so an impossible token is never drawn.
    pub fn uniform(&mut self) -> f32 {
        ((self.next() >> 40) + 1) as f32 / 16_777_216.0
    }
}
