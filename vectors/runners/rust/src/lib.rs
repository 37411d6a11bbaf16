//! Run test vectors with cargo alone: `VECTORS=kit cargo test`, with the absolute path of a kit.
//!
//! Copy this folder, implement `Sampler`, and put your sampler in `tests/vectors.rs` instead of the
//! small one. `sample` returns what is left, or None for a sampler that it lacks. Scripts take
//! samplers with a state from `make`. With EXACT=1 the result must be llama.cpp's to the bit. The
//! README of the kit has the fields.

pub mod small_sampler;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

pub trait Sampler {
    fn sample(&self, name: &str, test: &Test) -> Option<Outcome>;

    /// Makes a sampler with a state; None if it is missing. One that draws has a seed.
    fn make(
        &self,
        _name: &str,
        _parameters: &Json,
        _seed: Option<u32>,
    ) -> Option<Box<dyn Instance>> {
        None
    }
}

pub trait Instance {
    /// Returns what is left. The test has no tokens.
    fn apply(&mut self, test: &Test) -> Outcome;
    fn accept(&mut self, token: i32);
    fn reset(&mut self);
    fn boxed_clone(&self) -> Box<dyn Instance>;
}

/// What is left. `p` and `sorted` may be None; only EXACT=1 compares them.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub ids: Vec<i32>,
    pub logits: Vec<f32>,
    pub token: Option<i32>,
    pub p: Option<Vec<f32>>,
    pub sorted: Option<bool>,
}

#[derive(Clone)]
pub struct Test {
    pub parameters: Json,
    pub tokens: Vec<i32>,
    pub uniform: f64,
    pub ids: Vec<i32>,
    pub logits: Vec<f32>,
    pub p: Vec<f32>,
    pub sorted: bool,
    pub exact: Outcome,
    pub right: Option<Right>,
}

#[derive(Clone)]
pub struct Right {
    stay: Option<Vec<i32>>,
    may: Vec<i32>,
    least: Option<usize>,
    most: Option<usize>,
    ids: Option<Vec<i32>>,
    ends: Option<(Vec<f64>, Vec<f64>)>,
    tokens: Option<Vec<i32>>,
    token_alone: bool,
}

pub struct Report {
    pub run: usize,
    pub skipped: usize,
    pub problems: Vec<String>,
}

/// Runs the tests of one file, as "vectors/top_k". Each problem is a line "ID: problem".
pub fn problems(kit: &Path, file: &str, sampler: &impl Sampler) -> Report {
    let mut report = Report {
        run: 0,
        skipped: 0,
        problems: Vec::new(),
    };
    let rows = read(&kit.join("rows.f32"));
    let text = String::from_utf8(read(&kit.join(format!("{file}.json")))).unwrap();
    let json = Json::read(&text);
    let name = json.get("sampler").unwrap().text();
    for test in json.get("tests").unwrap().list() {
        let is_script = test.get("calls").is_some();
        // Without `right` only the result of llama.cpp is known.
        if !is_script && test.get("right").is_none() && !is_exact() {
            continue;
        }
        let wrong = if is_script {
            script_problem(name, test, &rows, sampler)
        } else {
            vector_problem(name, test, &rows, sampler)
        };
        let Some(wrong) = wrong else {
            report.skipped += 1;
            continue;
        };
        report.run += 1;
        if let Some(problem) = wrong {
            let id = test.get("id").unwrap().text();
            report.problems.push(format!("{id}: {problem}"));
        }
    }
    report
}

/// Returns what is wrong after one call; None if the sampler is missing.
fn vector_problem(
    name: &str,
    vector: &Json,
    rows: &[u8],
    sampler: &impl Sampler,
) -> Option<Option<String>> {
    let test = one(vector, vector.get("parameters").unwrap(), rows);
    let outcome = sampler.sample(name, &test)?;
    Some(problem(&test, &outcome))
}

/// Makes the calls of a script. Returns what is wrong first; None if the sampler is missing.
fn script_problem(
    name: &str,
    script: &Json,
    rows: &[u8],
    sampler: &impl Sampler,
) -> Option<Option<String>> {
    let parameters = script.get("parameters").unwrap();
    let seed = script.get("seed").map(|seed| seed.number() as u32);
    let count = script.get("instances").map_or(1.0, Json::number) as usize;
    let mut instances = Vec::new();
    for _ in 0..count {
        instances.push(sampler.make(name, parameters, seed)?);
    }
    for (i, call) in script.get("calls").unwrap().list().iter().enumerate() {
        let on = &mut instances[call.get("on").map_or(0.0, Json::number) as usize];
        match call.get("call").unwrap().text() {
            "accept" => on.accept(call.get("token").unwrap().number() as i32),
            "reset" => on.reset(),
            "clone" => {
                let twin = on.boxed_clone();
                instances.push(twin);
            }
            _ => {
                let test = one(call, parameters, rows);
                if let Some(problem) = problem(&test, &on.apply(&test)) {
                    return Some(Some(format!("call {}: {problem}", i + 1)));
                }
            }
        }
    }
    Some(None)
}

fn is_exact() -> bool {
    std::env::var("EXACT").is_ok_and(|exact| exact == "1")
}

/// Returns where a result differs from llama.cpp's.
fn exact_problem(exact: &Outcome, outcome: &Outcome) -> Option<String> {
    if outcome.ids != exact.ids {
        return Some("other ids are left, or in another order".to_string());
    }
    if bits(&outcome.logits) != bits(&exact.logits) {
        return Some("logits differ".to_string());
    }
    if outcome.p.is_some() && outcome.p.as_deref().map(bits) != exact.p.as_deref().map(bits) {
        return Some("p differ".to_string());
    }
    if exact.token.is_some() && outcome.token != exact.token {
        return Some(format!(
            "token {:?} is selected, not {:?}",
            outcome.token, exact.token
        ));
    }
    match outcome.sorted {
        Some(sorted) if exact.sorted != Some(sorted) => Some(format!("sorted is {sorted}")),
        _ => None,
    }
}

/// Returns the bits of numbers, the same for each NaN.
fn bits(row: &[f32]) -> Vec<u32> {
    let one = |x: &f32| if x.is_nan() { f32::NAN } else { *x }.to_bits();
    row.iter().map(one).collect()
}

/// Returns what is wrong with a result.
pub fn problem(test: &Test, outcome: &Outcome) -> Option<String> {
    if is_exact() {
        return exact_problem(&test.exact, outcome);
    }
    let right = test.right.as_ref()?;
    if right.token_alone {
        return token_problem(right, outcome.token);
    }
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
    token_problem(right, outcome.token)
}

fn token_problem(right: &Right, token: Option<i32>) -> Option<String> {
    match (&right.tokens, token) {
        (None, _) => None,
        (Some(tokens), None) => Some(format!("no token is selected, not one of {tokens:?}")),
        (Some(tokens), Some(token)) if tokens.contains(&token) => None,
        (Some(tokens), Some(token)) => Some(format!("token {token} is selected, not {tokens:?}")),
    }
}

fn by_id(ids: &[i32], numbers: &[f64]) -> BTreeMap<i32, f64> {
    ids.iter().copied().zip(numbers.iter().copied()).collect()
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads a vector, or a call of apply. What `exact` leaves out is as in the input.
fn one(test: &Json, parameters: &Json, rows: &[u8]) -> Test {
    let logits = floats(test.get("logits").unwrap(), rows);
    let p = test
        .get("p")
        .map_or_else(|| vec![0.0; logits.len()], |p| floats(p, rows));
    let ids = test
        .get("ids")
        .map_or_else(|| (0..logits.len() as i32).collect(), integers);
    let flags = test.get("flags").map_or(&[][..], Json::list);
    let sorted = flags.iter().any(|flag| flag.text() == "sorted");
    let exact = test.get("exact").unwrap();
    let ids_left = exact.get("ids").map_or_else(|| ids.clone(), integers);
    let left = |name: &str, before: &[f32]| match exact.get(name) {
        Some(row) => floats(row, rows),
        None => {
            let before: BTreeMap<_, _> = ids.iter().zip(before).collect();
            ids_left.iter().map(|i| *before[i]).collect()
        }
    };
    Test {
        parameters: parameters.clone(),
        tokens: test.get("tokens").map(integers).unwrap_or_default(),
        uniform: test.get("uniform").map_or(0.0, Json::number),
        exact: Outcome {
            logits: left("logits", &logits),
            p: Some(left("p", &p)),
            token: exact.get("token").map(|token| token.number() as i32),
            sorted: Some(exact.get("sorted").map_or(sorted, Json::truth)),
            ids: ids_left,
        },
        ids,
        logits,
        p,
        sorted,
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
            token_alone: right.get("token_alone").is_some(),
        }),
    }
}

fn integers(list: &Json) -> Vec<i32> {
    list.list().iter().map(|x| x.number() as i32).collect()
}

fn floats(row: &Json, rows: &[u8]) -> Vec<f32> {
    numbers(row, rows).iter().map(|&x| x as f32).collect()
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

    pub fn truth(&self) -> bool {
        matches!(self, Json::Bool(true))
    }

    /// Returns a number, also that of "inf", "-inf" or "nan".
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
