//! An adapter for sampler-parity in Rust, with nothing but the standard library.
//!
//!     rustc --edition 2021 -O -o adapter adapter.rs
//!     sampler-parity adapter check -- ./adapter
//!     sampler-parity run parity/temp -b mine=./adapter
//!
//! greedy is complete; implement temp. Samplers that you add to SAMPLERS, under llama.cpp's name and
//! with its parameters, are tested, too.

use std::fs::{File, OpenOptions};
use std::io::{stdin, stdout, BufRead, Read, Seek, SeekFrom, Write};

struct Candidates {
    ids: Vec<i32>,
    logits: Vec<f32>,
    p: Vec<f32>,
    selected: Option<usize>,
}

/// accept and reset are for samplers that remember tokens; copy is what a clone of the chain gets.
trait Sampler {
    fn apply(&mut self, c: &mut Candidates);
    fn accept(&mut self, _token: i32) {}
    fn reset(&mut self) {}
    fn copy(&self) -> Box<dyn Sampler>;
}

/// Selects the first largest logit.
#[derive(Clone)]
struct Greedy;

impl Sampler for Greedy {
    fn apply(&mut self, c: &mut Candidates) {
        let mut best = 0;
        for (i, &x) in c.logits.iter().enumerate() {
            if x > c.logits[best] {
                best = i;
            }
        }
        c.selected = Some(best);
    }

    fn copy(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

/// Divides every logit by the temperature.
#[derive(Clone)]
struct Temp {
    temp: f32,
}

impl Sampler for Temp {
    fn apply(&mut self, c: &mut Candidates) {
        // Fill in: at temp <= 0 the first largest logit stays, and every other becomes f32::NEG_INFINITY.
        if self.temp != 0.0 {
            for x in &mut c.logits {
                *x /= self.temp;
            }
        }
    }

    fn copy(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

type Make = fn(&Json) -> Box<dyn Sampler>;

const SAMPLERS: [(&str, Make); 2] = [
    ("greedy", |_| Box::new(Greedy)),
    ("temp", |given| Box::new(Temp { temp: given.get("temp").number() as f32 })),
];

// What follows is the protocol: docs/reference/protocol.md of sampler-parity. First JSON, of which what a
// request holds is read.

enum Json {
    Null,
    Bool,
    Number(f64),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    fn get(&self, key: &str) -> &Json {
        match self {
            Json::Object(pairs) => pairs.iter().find(|(k, _)| k == key).map_or(&Json::Null, |(_, v)| v),
            _ => &Json::Null,
        }
    }

    /// The number of a value or parameter: infinities come as "inf" and "-inf".
    fn number(&self) -> f64 {
        match self {
            Json::Number(x) => *x,
            Json::Text(text) => text.parse().unwrap_or(f64::NAN),
            _ => 0.0,
        }
    }

    fn index(&self) -> usize {
        self.number() as usize
    }

    fn text(&self) -> &str {
        if let Json::Text(text) = self {
            text
        } else {
            ""
        }
    }

    fn items(&self) -> &[Json] {
        if let Json::Array(items) = self {
            items
        } else {
            &[]
        }
    }
}

struct Reader<'a> {
    line: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn skip(&mut self) -> u8 {
        let bytes = self.line.as_bytes();
        while b" \t\r\n,:".contains(&bytes[self.at]) {
            self.at += 1;
        }
        bytes[self.at]
    }

    fn value(&mut self) -> Json {
        match self.skip() {
            b'"' => Json::Text(self.string()),
            b'[' => {
                let mut items = vec![];
                self.at += 1;
                while self.skip() != b']' {
                    items.push(self.value());
                }
                self.at += 1;
                Json::Array(items)
            }
            b'{' => {
                let mut pairs = vec![];
                self.at += 1;
                while self.skip() != b'}' {
                    let key = self.string();
                    pairs.push((key, self.value()));
                }
                self.at += 1;
                Json::Object(pairs)
            }
            _ => {
                let rest = &self.line[self.at..];
                let word = &rest[..rest.find([',', ']', '}', ' ', '\n', '\r']).unwrap_or(rest.len())];
                self.at += word.len();
                match word {
                    "null" => Json::Null,
                    "true" | "false" => Json::Bool,
                    _ => Json::Number(word.parse().expect("a number")),
                }
            }
        }
    }

    fn string(&mut self) -> String {
        let mut units: Vec<u16> = vec![]; // as JSON escapes them: half of a pair is no character
        let mut chars = self.line[self.at + 1..].char_indices();
        while let Some((i, c)) = chars.next() {
            let mut next = || chars.next().expect("the end of a string").1;
            match c {
                '"' => {
                    self.at += i + 2;
                    break;
                }
                '\\' => units.push(match next() {
                    'u' => {
                        let digits: String = (0..4).map(|_| next()).collect();
                        u16::from_str_radix(&digits, 16).expect("four digits")
                    }
                    'b' => 8,
                    'f' => 12,
                    'n' => 10,
                    'r' => 13,
                    't' => 9,
                    other => other as u16,
                }),
                other => units.extend_from_slice(other.encode_utf16(&mut [0; 2])),
            }
        }
        String::from_utf16_lossy(&units)
    }
}

type Chain = Vec<Box<dyn Sampler>>;

fn build(stages: &Json) -> Result<Chain, String> {
    let mut chain: Chain = vec![];
    for stage in stages.items() {
        if let Json::Object(pairs) = stage {
            let (name, given) = &pairs[0];
            let known = SAMPLERS.iter().find(|(sampler, _)| sampler == name);
            let (_, make) = known.ok_or(format!("no sampler {name}"))?;
            chain.push(make(given));
        }
    }
    Ok(chain)
}

fn accept(chain: &mut Chain, token: i32) {
    chain.iter_mut().for_each(|sampler| sampler.accept(token));
}

fn read_row(mut scratch: &File, rows: &Json, index: usize) -> Candidates {
    let n = rows.get("n").index();
    let mut bytes = vec![0; 4 * n];
    let at = rows.get("at").index() + bytes.len() * index;
    scratch.seek(SeekFrom::Start(at as u64)).expect("a place in the scratch file");
    scratch.read_exact(&mut bytes).expect("a row of the scratch file");
    let logits = bytes.chunks(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
    Candidates { ids: (0..n as i32).collect(), logits, p: vec![0.0; n], selected: None }
}

/// The byte behind what was written.
fn write(mut scratch: &File, at: usize, c: &Candidates) -> usize {
    let mut bytes: Vec<u8> = c.ids.iter().flat_map(|x| x.to_le_bytes()).collect();
    bytes.extend(c.logits.iter().chain(&c.p).flat_map(|x| x.to_le_bytes()));
    scratch.seek(SeekFrom::Start(at as u64)).expect("a place in the scratch file");
    scratch.write_all(&bytes).expect("room in the scratch file");
    at + bytes.len()
}

fn run(scratch: &File, request: &Json) -> Result<String, String> {
    let mut chains = vec![];
    for _ in 0..request.get("instances").index() {
        let mut chain = build(request.get("chain"))?;
        for token in request.get("history").items() {
            accept(&mut chain, token.number() as i32);
        }
        chains.push(chain);
    }
    let (mut tokens, mut stages): (Vec<String>, Vec<String>) = (vec![], vec![]);
    let mut at = request.get("out").index();
    for step in request.get("steps").items() {
        for before in step.get("before").items() {
            let of = before.items()[1].index();
            if before.items()[0].text() == "clone" {
                let copy = chains[of].iter().map(|sampler| sampler.copy()).collect();
                chains.push(copy);
            } else {
                chains[of].iter_mut().for_each(|sampler| sampler.reset());
            }
        }
        let mut c = read_row(scratch, request.get("rows"), step.get("row").index());
        let chain = &mut chains[step.get("instance").index()];
        let mut results = vec![];
        for sampler in chain.iter_mut() {
            sampler.apply(&mut c);
            if request.get("detail").text() == "stages" {
                let (n, selected) = (c.ids.len(), c.selected.map_or(-1, |i| i as i64));
                results.push(format!(
                    r#"{{"at": {at}, "n": {n}, "sorted": null, "selected": {selected}}}"#
                ));
                at = write(scratch, at, &c);
            }
        }
        let token = c.selected.map(|i| c.ids[i]);
        let accepted = match step.get("accept") {
            Json::Text(_) => token,
            Json::Number(id) => Some(*id as i32),
            _ => None,
        };
        if let Some(id) = accepted {
            accept(chain, id);
        }
        tokens.push(token.map_or("null".into(), |id| id.to_string()));
        stages.push(format!("[{}]", results.join(", ")));
    }
    let (tokens, stages) = (tokens.join(", "), stages.join(", "));
    Ok(format!(r#"{{"ok": true, "tokens": [{tokens}], "stages": [{stages}], "ns": 0}}"#))
}

fn answer(scratch: &mut Option<File>, request: &Json) -> Result<String, String> {
    match (request.get("do").text(), scratch.as_ref()) {
        ("hello", _) if request.get("protocol").index() == 1 => {
            let path = request.get("scratch").text();
            let file = OpenOptions::new().read(true).write(true).open(path);
            *scratch = Some(file.expect("the scratch file"));
            let names: Vec<String> = SAMPLERS.iter().map(|(name, _)| format!("{name:?}")).collect();
            let names = names.join(", ");
            Ok(format!(
                r#"{{"ok": true, "protocol": 1, "name": "mine", "version": "1",
                "capabilities": ["run"], "samplers": [{names}],
                "arithmetic": {{"logits": "float32", "sums": "float32"}}, "random": "mt19937"}}"#
            )
            .replace('\n', " "))
        }
        ("run", Some(file)) => run(file, request),
        (other, _) => Err(format!("no request {other}")),
    }
}

fn main() {
    let mut scratch = None;
    for line in stdin().lock().lines() {
        let line = line.expect("a line of UTF-8");
        let request = Reader { line: &line, at: 0 }.value();
        if request.get("do").text() == "bye" {
            return;
        }
        let reply = answer(&mut scratch, &request).unwrap_or_else(|message| {
            let message: String =
                message.chars().filter(|&c| c >= ' ' && c != '"' && c != '\\').collect();
            format!(r#"{{"ok": false, "kind": "unsupported", "message": "{message}"}}"#)
        });
        println!("{reply}");
        stdout().flush().expect("somebody who reads");
    }
}
