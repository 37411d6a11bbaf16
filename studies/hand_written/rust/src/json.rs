//! A small JSON reader and writer: just what the line protocol needs.

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Int(i64),
    Real(f64),
    Text(String),
    List(Vec<Json>),
    Map(Vec<(String, Json)>),
}

impl Json {
    pub fn parse(text: &str) -> Result<Json, String> {
        let mut reader = Reader { bytes: text.as_bytes(), at: 0 };
        let value = reader.value()?;
        reader.space();
        if reader.at == reader.bytes.len() { Ok(value) } else { Err(format!("text after the value, at {}", reader.at)) }
    }

    /// A field that is there and not null.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Map(fields) => fields.iter().find(|(k, v)| k == key && *v != Json::Null).map(|(_, v)| v),
            _ => None,
        }
    }

    pub fn int(&self) -> Option<i64> {
        match self {
            Json::Int(x) => Some(*x),
            Json::Real(x) if x.fract() == 0.0 && x.abs() < 9e15 => Some(*x as i64),
            _ => None,
        }
    }

    /// A number, or one of the texts "inf", "-inf", "nan".
    pub fn real(&self) -> Option<f64> {
        match self {
            Json::Int(x) => Some(*x as f64),
            Json::Real(x) => Some(*x),
            Json::Text(t) => match t.as_str() {
                "inf" => Some(f64::INFINITY),
                "-inf" => Some(f64::NEG_INFINITY),
                "nan" => Some(f64::NAN),
                _ => None,
            },
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        if let Json::Text(t) = self { Some(t) } else { None }
    }

    pub fn list(&self) -> Option<&[Json]> {
        if let Json::List(l) = self { Some(l) } else { None }
    }

    pub fn write(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Json::Int(x) => out.push_str(&x.to_string()),
            Json::Real(x) => out.push_str(&format!("{x:?}")),
            Json::Text(t) => quote(t, out),
            Json::List(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 { out.push(','); }
                    item.write(out);
                }
                out.push(']');
            }
            Json::Map(fields) => {
                out.push('{');
                for (i, (key, value)) in fields.iter().enumerate() {
                    if i > 0 { out.push(','); }
                    quote(key, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// A map from (key, value) pairs.
pub fn map<const N: usize>(fields: [(&str, Json); N]) -> Json {
    Json::Map(fields.into_iter().map(|(k, v)| (k.to_string(), v)).collect())
}

pub fn text(t: &str) -> Json {
    Json::Text(t.to_string())
}

pub fn texts(list: &[&str]) -> Json {
    Json::List(list.iter().map(|t| text(t)).collect())
}

fn quote(t: &str, out: &mut String) {
    out.push('"');
    for c in t.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn space(&mut self) {
        while self.at < self.bytes.len() && b" \t\r\n".contains(&self.bytes[self.at]) {
            self.at += 1;
        }
    }

    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn expect(&mut self, word: &str) -> Result<(), String> {
        if self.bytes[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            Err(format!("expected {word} at {}", self.at))
        }
    }

    fn value(&mut self) -> Result<Json, String> {
        self.space();
        match self.peek() {
            b'{' => {
                self.at += 1;
                let mut fields = Vec::new();
                self.space();
                if self.peek() == b'}' {
                    self.at += 1;
                    return Ok(Json::Map(fields));
                }
                loop {
                    self.space();
                    let key = self.string()?;
                    self.space();
                    self.expect(":")?;
                    fields.push((key, self.value()?));
                    self.space();
                    if self.peek() == b',' { self.at += 1; continue; }
                    self.expect("}")?;
                    return Ok(Json::Map(fields));
                }
            }
            b'[' => {
                self.at += 1;
                let mut items = Vec::new();
                self.space();
                if self.peek() == b']' {
                    self.at += 1;
                    return Ok(Json::List(items));
                }
                loop {
                    items.push(self.value()?);
                    self.space();
                    if self.peek() == b',' { self.at += 1; continue; }
                    self.expect("]")?;
                    return Ok(Json::List(items));
                }
            }
            b'"' => Ok(Json::Text(self.string()?)),
            b't' => self.expect("true").map(|_| Json::Bool(true)),
            b'f' => self.expect("false").map(|_| Json::Bool(false)),
            b'n' => self.expect("null").map(|_| Json::Null),
            _ => self.number(),
        }
    }

    fn number(&mut self) -> Result<Json, String> {
        let start = self.at;
        while self.at < self.bytes.len() && b"+-0123456789.eE".contains(&self.bytes[self.at]) {
            self.at += 1;
        }
        let word = std::str::from_utf8(&self.bytes[start..self.at]).unwrap();
        if let Ok(x) = word.parse::<i64>() {
            return Ok(Json::Int(x));
        }
        word.parse::<f64>().map(Json::Real).map_err(|_| format!("no value at {start}"))
    }

    fn string(&mut self) -> Result<String, String> {
        self.expect("\"")?;
        let mut out = Vec::new();
        loop {
            let c = *self.bytes.get(self.at).ok_or("a text has no end")?;
            self.at += 1;
            match c {
                b'"' => return String::from_utf8(out).map_err(|_| "a text is not UTF-8".to_string()),
                b'\\' => {
                    let e = self.peek();
                    self.at += 1;
                    match e {
                        b'n' => out.push(b'\n'),
                        b't' => out.push(b'\t'),
                        b'r' => out.push(b'\r'),
                        b'b' => out.push(8),
                        b'f' => out.push(12),
                        b'u' => {
                            let mut code = self.hex()?;
                            if (0xd800..0xdc00).contains(&code) {
                                self.expect("\\u")?;
                                let low = self.hex()?;
                                if !(0xdc00..0xe000).contains(&low) { return Err("half a surrogate pair".into()); }
                                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                            }
                            let c = char::from_u32(code).ok_or("half a surrogate pair")?;
                            out.extend_from_slice(c.to_string().as_bytes());
                        }
                        b'"' | b'\\' | b'/' => out.push(e),
                        _ => return Err(format!("unknown escape at {}", self.at)),
                    }
                }
                c => out.push(c),
            }
        }
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits = self.bytes.get(self.at..self.at + 4).ok_or("an escape has no end")?;
        self.at += 4;
        std::str::from_utf8(digits).ok().and_then(|d| u32::from_str_radix(d, 16).ok()).ok_or("no hexadecimal digits".into())
    }
}
