use run_vectors::problems;
use run_vectors::small_sampler::SmallSampler;
use std::io::Write;
use std::path::PathBuf;

macro_rules! a_test_for_each {
    ($($name:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { check(concat!("vectors/", stringify!($name))); })*
    };
}

a_test_for_each! {
    dist dry greedy logit_bias min_p penalties temp temp_ext top_k top_n_sigma top_p typical_p xtc
}

fn kit() -> PathBuf {
    std::env::var("VECTORS")
        .unwrap_or_else(|_| ".".to_string())
        .into()
}

fn check(file: &str) {
    if !kit().join(format!("{file}.json")).exists() {
        return; // a kit of some suites
    }
    let report = problems(&kit(), file, &SmallSampler::from_env());
    if report.skipped > 0 {
        // Not println!, which cargo hides when a test passes.
        let line = format!("{file}: skipped, {} tests\n", report.skipped);
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    let wrong = report.problems.len();
    let first = report.problems[..wrong.min(10)].join("\n");
    assert!(
        wrong == 0,
        "{file}: {wrong} of {} wrong\n{first}",
        report.run
    );
}

/// Returns the names of the files of a folder, which is missing if git or zip dropped it, empty.
fn names(kind: &str) -> Vec<String> {
    let Ok(files) = kit().join(kind).read_dir() else {
        return Vec::new();
    };
    files
        .map(|file| {
            let path = file.unwrap().path();
            path.file_stem().unwrap().to_str().unwrap().to_string()
        })
        .collect()
}

#[test]
fn every_file_has_a_test() {
    let (vectors, scripts) = (names("vectors"), names("scripts"));
    assert!(
        !vectors.is_empty() || !scripts.is_empty(),
        "VECTORS is no kit"
    );
    for name in vectors {
        assert!(
            NAMES.contains(&name.as_str()),
            "add {name} to a_test_for_each!"
        );
    }
}

#[test]
fn scripts() {
    for name in names("scripts") {
        check(&format!("scripts/{name}"));
    }
}
