//! Deliberate mistakes, chosen by the environment variable MISTAKE. Without it the engine is right.

use std::sync::OnceLock;

static CHOSEN: OnceLock<String> = OnceLock::new();

pub fn mistake(name: &str) -> bool {
    CHOSEN.get_or_init(|| std::env::var("MISTAKE").unwrap_or_default()) == name
}
