//! lathe: an engine of LLM token samplers behind a line protocol.

mod candidates;
mod json;
mod mistake;
mod random;
mod samplers;
mod scratch;

use std::io::{self, BufRead, Write};
use std::time::Instant;

use candidates::{rejected, unsupported, Candidates, Refusal};
use json::{map, text, texts, Json};
use samplers::Chain;
use scratch::Scratch;

type Reply = Result<Vec<(String, Json)>, Refusal>;

fn main() {
    let mut scratch = None;
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if line.trim().is_empty() {
            continue;
        }
        let request = match Json::parse(&line) {
            Ok(request) => request,
            Err(error) => panic!("not JSON: {error}"),
        };
        let kind = request.get("do").and_then(Json::text).unwrap_or("");
        if kind == "bye" {
            break;
        }
        let reply = match answer(kind, &request, &mut scratch) {
            Ok(mut fields) => {
                fields.insert(0, ("ok".to_string(), Json::Bool(true)));
                Json::Map(fields)
            }
            Err(why) => map([("ok", Json::Bool(false)), ("kind", text(why.kind)), ("message", text(&why.message))]),
        };
        let mut written = String::new();
        reply.write(&mut written);
        written.push('\n');
        if out.write_all(written.as_bytes()).and_then(|_| out.flush()).is_err() {
            break;
        }
    }
}

fn answer(kind: &str, request: &Json, scratch: &mut Option<Scratch>) -> Reply {
    if kind == "hello" {
        return hello(request, scratch);
    }
    let scratch = scratch.as_ref().ok_or_else(|| rejected("no greeting"))?;
    match kind {
        "run" => run(request, scratch),
        "batch" => batch(request, scratch),
        "draws" => draws(request, scratch),
        _ => Err(unsupported(&format!("no request {kind}"))),
    }
}

fn fields<const N: usize>(pairs: [(&str, Json); N]) -> Vec<(String, Json)> {
    pairs.into_iter().map(|(k, v)| (k.to_string(), v)).collect()
}

fn hello(request: &Json, scratch: &mut Option<Scratch>) -> Reply {
    if request.get("protocol").and_then(Json::int).unwrap_or(2) != 2 {
        return Err(unsupported("only version 2 of the protocol"));
    }
    *scratch = Some(Scratch::open(request.get("scratch").and_then(Json::text).ok_or_else(|| rejected("no scratch"))?)?);
    let arithmetic = map([
        ("logits", text("float32")),
        ("probabilities", text("float32")),
        ("sums", text("float32")),
        ("summation", text("sequential")),
        ("exp_ulps", Json::Real(2.0)),
        ("stable_sort", Json::Bool(true)),
    ]);
    Ok(fields([
        ("protocol", Json::Int(2)),
        ("name", text("lathe")),
        ("version", text(env!("CARGO_PKG_VERSION"))),
        ("build", text("")),
        ("device", text("cpu")),
        ("capabilities", texts(&["run", "draws", "batch", "no_vocab"])),
        ("samplers", texts(&samplers::NAMES)),
        ("dtypes", texts(&["float32"])),
        ("arithmetic", arithmetic),
        ("random", text("own")),
    ]))
}

fn whole(request: &Json, name: &str) -> Result<i64, Refusal> {
    request.get(name).and_then(Json::int).ok_or_else(|| rejected(&format!("{name} is missing")))
}

fn tokens(request: &Json, name: &str) -> Result<Vec<i32>, Refusal> {
    let list = request.get(name).and_then(Json::list).unwrap_or(&[]);
    list.iter().map(|t| t.int().map(|t| t as i32).ok_or_else(|| rejected(&format!("{name}: no token")))).collect()
}

/// The rows of logits of a request.
struct Rows<'a> {
    scratch: &'a Scratch,
    at: u64,
    count: i64,
    n: usize,
}

impl<'a> Rows<'a> {
    fn of(request: &Json, scratch: &'a Scratch) -> Result<Rows<'a>, Refusal> {
        let rows = request.get("rows").ok_or_else(|| rejected("rows is missing"))?;
        if rows.get("dtype").and_then(Json::text).unwrap_or("float32") != "float32" {
            return Err(unsupported("only rows of float32"));
        }
        Ok(Rows { scratch, at: whole(rows, "at")? as u64, count: whole(rows, "count")?, n: whole(rows, "n")? as usize })
    }

    fn candidates(&self, row: i64) -> Result<Candidates, Refusal> {
        if row < 0 || row >= self.count {
            return Err(rejected(&format!("no row {row}")));
        }
        let at = self.at + row as u64 * 4 * self.n as u64;
        Ok(Candidates::from_row(&self.scratch.read_floats(at, self.n)?))
    }
}

fn build(request: &Json, chain: &Json, histories: [&[i32]; 2]) -> Result<Chain, Refusal> {
    let mut chain = Chain::build(chain, whole(request, "n_vocab")? as usize)?;
    histories.into_iter().flatten().for_each(|&token| chain.accept(token));
    Ok(chain)
}

/// Samples from rows and writes the candidates after each stage, if they are requested.
struct Sampling<'a> {
    rows: Rows<'a>,
    show_stages: bool,
    out: u64,
    ns: i64,
}

impl<'a> Sampling<'a> {
    fn of(request: &Json, scratch: &'a Scratch) -> Result<Sampling<'a>, Refusal> {
        let show_stages = request.get("detail").and_then(Json::text).unwrap_or("stages") == "stages";
        let out = if show_stages { whole(request, "out")? as u64 } else { 0 };
        Ok(Sampling { rows: Rows::of(request, scratch)?, show_stages, out, ns: 0 })
    }

    /// `step` has `row` and `accept`. Returns the selected token and the stages.
    fn sample(&mut self, chain: &mut Chain, step: &Json) -> Result<(Json, Json), Refusal> {
        let mut c = self.rows.candidates(whole(step, "row")?)?;
        let mut stages = Vec::new();
        for stage in &mut chain.stages {
            let start = Instant::now();
            stage.apply(&mut c)?;
            self.ns += start.elapsed().as_nanos() as i64;
            if self.show_stages {
                let at = self.out;
                self.out = self.rows.scratch.write_candidates(at, &c)?;
                stages.push(map([
                    ("at", Json::Int(at as i64)),
                    ("n", Json::Int(c.len() as i64)),
                    ("selected", Json::Int(c.selected.map_or(-1, |i| i as i64))),
                ]));
            }
        }
        let token = selected_token(&c)?;
        let accepted = match field(step, "accept") {
            None => token,
            Some(Json::Text(t)) if t == "selected" => token,
            Some(Json::Null) => None,
            Some(other) => Some(other.int().ok_or_else(|| rejected("accept is no token"))? as i32),
        };
        if let Some(accepted) = accepted {
            chain.accept(accepted);
        }
        Ok((token.map_or(Json::Null, |t| Json::Int(t as i64)), Json::List(stages)))
    }

    fn reply(self, tokens: Vec<Json>, stages: Vec<Json>) -> Reply {
        let mut reply = fields([("tokens", Json::List(tokens)), ("ns", Json::Int(self.ns))]);
        if self.show_stages {
            reply.push(("stages".to_string(), Json::List(stages)));
        }
        Ok(reply)
    }
}

/// A field, null included.
fn field<'a>(of: &'a Json, key: &str) -> Option<&'a Json> {
    match of {
        Json::Map(fields) => fields.iter().find(|(k, _)| k == key).map(|(_, v)| v),
        _ => None,
    }
}

fn selected_token(c: &Candidates) -> Result<Option<i32>, Refusal> {
    match c.selected {
        None => Ok(None),
        Some(at) => match c.items.get(at) {
            Some(x) => Ok(Some(x.id)),
            None => Err(rejected("a stage behind the draw removed the selected place")),
        },
    }
}

/// An operation such as ["clone", 1].
fn operation(op: &Json) -> Result<(&str, Vec<usize>), Refusal> {
    let wrong = || rejected("an operation is no list of a name and places");
    let (name, places) = op.list().and_then(|l| l.split_first()).ok_or_else(wrong)?;
    let places: Option<Vec<usize>> = places.iter().map(|p| p.int().and_then(|p| usize::try_from(p).ok())).collect();
    Ok((name.text().ok_or_else(wrong)?, places.ok_or_else(wrong)?))
}

fn at<T>(list: &mut [T], place: usize) -> Result<&mut T, Refusal> {
    list.get_mut(place).ok_or_else(|| rejected(&format!("no place {place}")))
}

fn run(request: &Json, scratch: &Scratch) -> Reply {
    let chain = request.get("chain").ok_or_else(|| rejected("chain is missing"))?;
    let history = tokens(request, "history")?;
    let mut instances = Vec::new();
    for _ in 0..request.get("instances").and_then(Json::int).unwrap_or(1) {
        instances.push(build(request, chain, [&history, &[]])?);
    }
    let mut sampling = Sampling::of(request, scratch)?;
    let (mut selected, mut stages) = (Vec::new(), Vec::new());
    for step in request.get("steps").and_then(Json::list).unwrap_or(&[]) {
        for op in step.get("before").and_then(Json::list).unwrap_or(&[]) {
            match operation(op)? {
                ("reset", places) if places.len() == 1 => at(&mut instances, places[0])?.reset(),
                ("clone", places) if places.len() == 1 => {
                    let clone = at(&mut instances, places[0])?.clone();
                    instances.push(clone);
                }
                (name, _) => return Err(unsupported(&format!("no operation {name}"))),
            }
        }
        let instance = step.get("instance").and_then(Json::int).unwrap_or(0) as usize;
        let (token, shown) = sampling.sample(at(&mut instances, instance)?, step)?;
        selected.push(token);
        stages.push(shown);
    }
    sampling.reply(selected, stages)
}

fn batch(request: &Json, scratch: &Scratch) -> Reply {
    let sequences = request.get("sequences").and_then(Json::list).unwrap_or(&[]);
    let mut live: Vec<Chain> = Vec::new();
    let mut sampling = Sampling::of(request, scratch)?;
    let (mut selected, mut stages) = (Vec::new(), Vec::new());
    for step in request.get("steps").and_then(Json::list).unwrap_or(&[]) {
        for op in step.get("before").and_then(Json::list).unwrap_or(&[]) {
            let (name, places) = operation(op)?;
            match (name, places.as_slice()) {
                ("join", &[s]) => {
                    let sequence = sequences.get(s).ok_or_else(|| rejected(&format!("no sequence {s}")))?;
                    let chain = sequence.get("chain").ok_or_else(|| rejected("chain is missing"))?;
                    let (prompt, output) = (tokens(sequence, "prompt")?, tokens(sequence, "output")?);
                    live.push(build(request, chain, [&prompt, &output])?);
                }
                ("leave", &[i]) => {
                    at(&mut live, i)?;
                    live.remove(i);
                }
                ("clone", &[i]) => {
                    let clone = at(&mut live, i)?.clone();
                    live.push(clone);
                }
                ("swap", &[i, j]) => {
                    at(&mut live, i)?;
                    at(&mut live, j)?;
                    live.swap(i, j);
                }
                ("reset", &[i]) => at(&mut live, i)?.reset(),
                _ => return Err(unsupported(&format!("no operation {name}"))),
            }
        }
        let (mut step_tokens, mut step_stages) = (Vec::new(), Vec::new());
        for sample in step.get("sample").and_then(Json::list).unwrap_or(&[]) {
            let chain = at(&mut live, whole(sample, "at")? as usize)?;
            let (token, shown) = sampling.sample(chain, sample)?;
            step_tokens.push(token);
            step_stages.push(shown);
        }
        selected.push(Json::List(step_tokens));
        stages.push(Json::List(step_stages));
    }
    sampling.reply(selected, stages)
}

fn draws(request: &Json, scratch: &Scratch) -> Reply {
    let history = tokens(request, "history")?;
    let spec = request.get("chain").ok_or_else(|| rejected("chain is missing"))?;
    let mut chain = build(request, spec, [&history, &[]])?;
    let fresh = Rows::of(request, scratch)?.candidates(0)?;
    let once = request.get("filters_once") == Some(&Json::Bool(true));
    let n_once = if once { chain.stages.len().saturating_sub(1) } else { 0 };
    let start = Instant::now();
    let (filters, rest) = chain.stages.split_at_mut(n_once);
    let mut filtered = fresh;
    for stage in filters {
        stage.apply(&mut filtered)?;
    }
    let mut drawn = Vec::new();
    let mut c = filtered.clone();
    for _ in 0..whole(request, "n")? {
        c.clone_from(&filtered);
        for stage in rest.iter_mut() {
            stage.apply(&mut c)?;
        }
        drawn.push(selected_token(&c)?.ok_or_else(|| rejected("the chain selects nothing"))?);
    }
    let ns = start.elapsed().as_nanos() as i64;
    scratch.write_ints(whole(request, "out")? as u64, &drawn)?;
    Ok(fields([("ns", Json::Int(ns))]))
}
