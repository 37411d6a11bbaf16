//! Run test vectors with cargo alone: `VECTORS=kit cargo test`, with the absolute path of a kit.
//!
//! Copy this folder, implement `Sampler`, and put your sampler in `tests/vectors.rs` instead of the
//! small one. `sample` returns what is left, or None for a sampler that it lacks. The README of
//! the kit has the fields.

pub mod small_sampler;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

pub trait Sampler {
    fn sample(&self, name: &str, test: &Test) -> Option<Outcome>;
}

pub struct Outcome {
    pub ids: Vec<i32>,
    pub logits: Vec<f32>,
    pub token: Option<i32>,
}

pub struct Test {
    pub id: String,
    pub about: String,
    pub parameters: Json,
    pub tokens: Vec<i32>,
    pub uniform: f64,
    pub ids: Vec<i32>,
    pub logits: Vec<f32>,
    pub right: Option<Right>,
}

pub struct Right {
    stay: Option<Vec<i32>>,
    may: Vec<i32>,
    least: Option<usize>,
    most: Option<usize>,
    ids: Option<Vec<i32>>,
    ends: Option<(Vec<f64>, Vec<f64>)>,
    tokens: Option<Vec<i32>>,
}

pub struct Report {
    pub run: usize,
    pub skipped: usize,
    pub problems: Vec<String>,
}

/// Runs the tests of one sampler. Each problem is a line "ID: problem".
pub fn problems(kit: &Path, name: &str, sampler: &impl Sampler) -> Report {
    let mut report = Report {
        run: 0,
        skipped: 0,
        problems: Vec::new(),
    };
    for test in vectors(kit, name) {
        let Some(right) = &test.right else { continue };
        let Some(outcome) = sampler.sample(name, &test) else {
            report.skipped += 1;
            continue;
        };
        report.run += 1;
        if let Some(problem) = problem(&test, right, &outcome) {
            report.problems.push(format!("{}: {problem}", test.id));
        }
    }
    report
}

/// Returns what is wrong with a result.
pub fn problem(test: &Test, right: &Right, outcome: &Outcome) -> Option<String> {
    if outcome.ids.len() != outcome.logits.len() {
        return Some(format!(
            "{} ids, {} logits",
            outcome.ids.len(),
            outcome.logits.len()
        ));
    }
    let logits: Vec<f64> = test.logits.iter().map(|&x| f64::from(x)).collect();
    let after: Vec<f64> = outcome.logits.iter().map(|&x| f64::from(x)).collect();
    let before = by_id(&test.ids, &logits);
    let mut left = by_id(&outcome.ids, &after);
    if left.len() < outcome.ids.len() {
        return Some("an id comes twice".to_string());
    }
    left.retain(|_, x| *x != f64::NEG_INFINITY);
    let stay: BTreeSet<i32> = match &right.stay {
        Some(stay) => stay.iter().copied().collect(),
        None => test
            .ids
            .iter()
            .copied()
            .filter(|i| before[i] != f64::NEG_INFINITY)
            .collect(),
    };
    if let Some(i) = stay.iter().find(|i| !left.contains_key(i)) {
        return Some(format!("token {i} must stay"));
    }
    let may: BTreeSet<i32> = right.may.iter().copied().collect();
    if let Some(i) = left.keys().find(|i| !stay.contains(i) && !may.contains(i)) {
        return Some(format!("token {i} must go"));
    }
    let least = right.least.unwrap_or(stay.len());
    let most = right.most.unwrap_or(stay.len());
    if !(least..=most).contains(&left.len()) {
        return Some(format!("{} tokens stay, not {least} to {most}", left.len()));
    }
    let (low, high) = match &right.ends {
        Some((low, high)) => {
            let order = right.ids.as_ref().unwrap_or(&test.ids);
            (by_id(order, low), by_id(order, high))
        }
        None => (before.clone(), before),
    };
    for (i, x) in &left {
        if !(low[i]..=high[i]).contains(x) {
            return Some(format!(
                "token {i} has {x:?}, not {:?} to {:?}",
                low[i], high[i]
            ));
        }
    }
    match (&right.tokens, outcome.token) {
        (None, _) => None,
        (Some(tokens), None) => Some(format!("no token is selected, not one of {tokens:?}")),
        (Some(tokens), Some(token)) if tokens.contains(&token) => None,
        (Some(tokens), Some(token)) => Some(format!("token {token} is selected, not {tokens:?}")),
    }
}

fn by_id(ids: &[i32], numbers: &[f64]) -> BTreeMap<i32, f64> {
    ids.iter().copied().zip(numbers.iter().copied()).collect()
}

/// Reads the tests of one sampler.
pub fn vectors(kit: &Path, name: &str) -> Vec<Test> {
    let rows = read(&kit.join("rows.f32"));
    let text = String::from_utf8(read(&kit.join("vectors").join(format!("{name}.json")))).unwrap();
    Json::read(&text)
        .get("tests")
        .unwrap()
        .list()
        .iter()
        .map(|test| one(test, &rows))
        .collect()
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn one(test: &Json, rows: &[u8]) -> Test {
    let logits: Vec<f32> = numbers(test.get("logits").unwrap(), rows)
        .iter()
        .map(|&x| x as f32)
        .collect();
    Test {
        id: test.get("id").unwrap().text().to_string(),
        about: test.get("about").unwrap().text().to_string(),
        parameters: test.get("parameters").unwrap().clone(),
        tokens: test.get("tokens").map(integers).unwrap_or_default(),
        uniform: test.get("uniform").map_or(0.0, Json::number),
        ids: test
            .get("ids")
            .map_or_else(|| (0..logits.len() as i32).collect(), integers),
        logits,
        right: test.get("right").map(|right| Right {
            stay: right.get("stay").map(integers),
            may: right.get("may").map(integers).unwrap_or_default(),
            least: right.get("least").map(|n| n.number() as usize),
            most: right.get("most").map(|n| n.number() as usize),
            ids: right.get("ids").map(integers),
            ends: right.get("low").map(|low| {
                (
                    numbers(low, rows),
                    numbers(right.get("high").unwrap(), rows),
                )
            }),
            tokens: right.get("tokens").map(integers),
        }),
    }
}

fn integers(list: &Json) -> Vec<i32> {
    list.list().iter().map(|x| x.number() as i32).collect()
}

/// Returns the numbers of a row.
fn numbers(row: &Json, rows: &[u8]) -> Vec<f64> {
    let Some(at) = row.get("at") else {
        return row.list().iter().map(Json::number).collect();
    };
    let start = 4 * at.number() as usize;
    let end = start + 4 * row.get("n").unwrap().number() as usize;
    let float = |b: &[u8]| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    rows[start..end].chunks(4).map(float).collect()
}

#[derive(Clone, Debug)]
pub enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

impl Json {
    /// Returns a field of an object.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(fields) => fields.get(key),
            _ => None,
        }
    }

    pub fn list(&self) -> &[Json] {
        match self {
            Json::List(list) => list,
            other => panic!("{other:?} is not a list"),
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Json::Text(text) => text,
            other => panic!("{other:?} is not a string"),
        }
    }

    /// Returns a number, also that of "inf" or "-inf".
    pub fn number(&self) -> f64 {
        match self {
            Json::Number(x) => *x,
            other => other.text().parse().expect("a number"),
        }
    }

    pub fn read(text: &str) -> Json {
        Reader { text, at: 0 }.value()
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self) -> Json {
        self.space();
        match self.peek() {
            b'{' => Json::Object(self.items(b'}', |reader| {
                reader.space();
                let key = reader.string();
                reader.space();
                reader.expect(":");
                (key, reader.value())
            })),
            b'[' => Json::List(self.items(b']', Reader::value)),
            b'"' => Json::Text(self.string()),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'n' => self.word("null", Json::Null),
            _ => self.number(),
        }
    }

    fn items<T, C: FromIterator<T>>(&mut self, end: u8, item: fn(&mut Self) -> T) -> C {
        let mut items = Vec::new();
        self.at += 1;
        self.space();
        while self.peek() != end {
            items.push(item(self));
            self.space();
            if self.peek() != end {
                self.expect(",");
                self.space();
            }
        }
        self.at += 1;
        items.into_iter().collect()
    }

    fn string(&mut self) -> String {
        self.expect("\"");
        let mut text = Vec::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(['"', '\\']).expect("the end of a string");
            text.extend(rest[..plain].encode_utf16());
            self.at += plain + 1;
            if rest.as_bytes()[plain] == b'"' {
                // UTF-16, since a character may be two \u escapes.
                return String::from_utf16(&text).expect("UTF-16");
            }
            text.push(self.escape());
        }
    }

    fn escape(&mut self) -> u16 {
        let letter = self.peek();
        self.at += 1;
        match letter {
            b'b' => 8,
            b'f' => 12,
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'u' => {
                self.at += 4;
                u16::from_str_radix(&self.text[self.at - 4..self.at], 16).expect("four hex digits")
            }
            same => u16::from(same),
        }
    }

    fn number(&mut self) -> Json {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_digit() && !"+-.eE".contains(c));
        let digits = &rest[..end.unwrap_or(rest.len())];
        self.at += digits.len();
        Json::Number(
            digits
                .parse()
                .unwrap_or_else(|_| panic!("no JSON at byte {}", self.at)),
        )
    }

    fn word(&mut self, word: &str, value: Json) -> Json {
        self.expect(word);
        value
    }

    fn expect(&mut self, word: &str) {
        assert!(
            self.text[self.at..].starts_with(word),
            "no {word} at byte {}",
            self.at
        );
        self.at += word.len();
    }

    fn space(&mut self) {
        while self.peek().is_ascii_whitespace() {
            self.at += 1;
        }
    }

    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }
}
