use run_vectors::problems;
use run_vectors::small_sampler::SmallSampler;
use std::io::Write;
use std::path::PathBuf;

macro_rules! a_test_for_each {
    ($($name:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { check(stringify!($name)); })*
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

fn check(name: &str) {
    let report = problems(&kit(), name, &SmallSampler::from_env());
    if report.skipped > 0 {
        // Not println!, which cargo hides when a test passes.
        let line = format!("{name}: skipped, {} vectors\n", report.skipped);
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    assert!(report.run + report.skipped > 0, "{name}: no vectors");
    let wrong = report.problems.len();
    let first = report.problems[..wrong.min(10)].join("\n");
    assert!(
        wrong == 0,
        "{name}: {wrong} of {} wrong\n{first}",
        report.run
    );
}

#[test]
fn every_file_has_a_test() {
    for file in kit()
        .join("vectors")
        .read_dir()
        .expect("VECTORS is the folder of a kit")
    {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(NAMES.contains(&name), "add {name} to a_test_for_each!");
    }
}
