"""The kinds of check, a row each (harness/rows). A name with a dot before it is of this package."""

from sampler_parity.harness.rows import CheckKind, GateRow, PageRow, RecordRow, SuiteTable

# fmt: off
CASE = RecordRow(
    "case", "harness.bundle.records:CaseResult", lines="harness.bundle.records:lines",
    gate=(
        GateRow("parity", "rules for cases", "cases", "harness.gate.policy:ParityRule",
                "harness.gate.rules:judge_parity", "harness.gate.rules:unruled_cases"),
        GateRow("not_worse", "rules against the baseline bundle", "",
                "harness.gate.policy:NotWorseRule", "harness.gate.rules:judge_not_worse"),
    ),
)

_GRID = "timings over sizes, or tokens a second"

KINDS = (
    CheckKind("stages", 0.01, CASE, run=".stages.run", case=".stages.block:StagesCase", tables=(
        SuiteTable("matrix", ".stages.blocks.matrix:MatrixBlock",
              "one chain on a grid of logits and parameters"),
        SuiteTable("pairs", ".stages.blocks.matrix:Pairs", "every ordered pair of stages"),
        SuiteTable("ladder", ".stages.blocks.ladder:Ladder", "sizes near powers of two"),
        SuiteTable("twins", ".stages.blocks.twins:Twins",
              "several instances of each sampler in one chain"),
        SuiteTable("scripts", ".stages.blocks.scripts:Scripts",
              "every script of a few operations on each sampler with a state"),
        SuiteTable("outcomes", ".stages.blocks.outcomes:ChosenOutcomes",
              "chosen numbers of survivors, and gaps between logits"),
        SuiteTable("pairwise", ".stages.blocks.pairwise:Pairwise",
              "every two parameters in every pair of their classes"),
        SuiteTable("random_chains", ".stages.blocks.random_chains:RandomChains", "random chains"),
        SuiteTable("fuzz", ".stages.blocks.fuzz:Fuzz", "cases that Hypothesis makes"),
        SuiteTable("grammar", ".stages.blocks.grammar:Grammars",
              "texts that a grammar accepts or rejects"),
        SuiteTable("random_grammars", ".stages.blocks.grammar:RandomGrammars", "random grammars"),
        SuiteTable("random_tries", ".stages.blocks.trie:RandomTries", "random token tries"),
        SuiteTable("random_breakers", ".stages.blocks.random_breakers:RandomBreakers",
              "random sequence breakers of dry"),
    )),
    CheckKind("draws", 0.01, CASE, run=".stages.run", case=".draws:DrawsCase"),
    CheckKind("unseeded", 0.01, CASE, case=".unseeded:UnseededCase"),
    CheckKind("kept", 0.01, CASE, run=".support", case=".support:SupportCase"),
    CheckKind("streams", 0.01, CASE, case=".streams:StreamsCase"),
    CheckKind("logprobs", 0.01, CASE, case=".logprobs:LogprobsCase", tables=(
        SuiteTable("logprobs", ".logprobs:LogprobsBlock",
              "the log-probabilities that an engine returns, by mode"),
    )),
    CheckKind("batch", 0.1, CASE, run=".batch.run", case=".batch.block:BatchCase", tables=(
        SuiteTable("batch", ".batch.block:Batches", "many rows at once"),
        SuiteTable("random_batches", ".batch.random_batches:RandomBatches",
              "random batches of rows whose state depends on the order of tokens"),
    )),
    CheckKind("rounds", 0.01, CASE, run=".rounds", case=".rounds:RoundsCase", tables=(
        SuiteTable("random_rounds", ".rounds:RandomRounds",
              "random rounds of speculative sampling with certain tokens"),
    )),
    CheckKind("generation", 1.0, CASE, run=".generation.run",
         case=".generation.block:GenerationCase",
         tables=(
        SuiteTable("generate", ".generation.block:Generations", "generations with a model"),
    )),
    CheckKind("sequences", 1.0, CASE, run=".sequences.run", case=".sequences.block:SequencesCase",
         tables=(
        SuiteTable("sequences", ".sequences.block:SequencesBlock", "many sequences in one context"),
    )),
    CheckKind("devices", 0.1, CASE, called="on_device", case=".devices:DeviceCase", tables=(
        SuiteTable("decode", ".devices:Decodings", "logits of prompts on every device"),
    )),
    CheckKind("logits", 0.5, RecordRow("decode", ".logits:DecodeResult", "prompt"), counts=False,
         case=".logits:LogitsCase"),
    CheckKind("invariance", 10.0, case=".invariance:InvarianceCase", tables=(
        SuiteTable("invariance", ".invariance:Invariances",
              "logits in batches against logits alone"),
    ), record=RecordRow(
        "invariance", ".invariance:InvarianceResult", "invariance",
        page=PageRow("reports.pages.invariance:INVARIANCE", 30),
    )),
    CheckKind("accuracy", 0.1, noun="measurements", tables=(
        SuiteTable("accuracy", ".accuracy:Accuracies", "errors of p and of the running mass"),
    ), record=RecordRow(
        "accuracy", ".accuracy:AccuracyResult", "accuracy measurement",
        page=PageRow("reports.pages.accuracy:ACCURACY", 90),
    )),
    CheckKind("distribution", 1.0, run=".distribution.run", called="distribution tests",
         noun="distribution tests", cases=False, unmet=".distribution.decisions:unmet", tables=(
        SuiteTable("frequency", ".distribution.block:Frequency", "distribution test: frequencies"),
        SuiteTable("coupled", ".distribution.block:Coupled",
                   "distribution test: equal uniforms"),
        SuiteTable("tail", ".distribution.block:Tail",
                   "distribution test: unlikely tokens"),
        SuiteTable("independence", ".distribution.block:Independence",
              "distribution test: repeats"),
        SuiteTable("injected", ".distribution.block:Injected",
              "distribution test: extreme uniforms"),
        SuiteTable("speculative", ".distribution.block:Speculative",
              "distribution test: rounds of speculative sampling"),
    ), record=RecordRow(
        "distribution", ".distribution.record:DistributionResult", "distribution test",
        lines=".distribution.decisions:lines",
        page=PageRow("reports.pages.distribution:DISTRIBUTION", 40),
        gate=(GateRow("distribution", "rules for distribution tests", "distribution tests",
                      "harness.gate.policy:DistributionRule",
                      "harness.gate.rules:judge_distributions",
                      "harness.gate.rules:unruled_cells"),),
    )),
    CheckKind("skip_ratio", 3.0, run=".skip_ratio.run", called="skip ratios", noun="skip ratios",
         timed=True, each=True, cases=False, unmet=".timed_records:skip_ratios_unmet", tables=(
        SuiteTable("skip_ratio", ".skip_ratio.block:SkipRatiosBlock", "savings of a token trie"),
    ), record=RecordRow(
        "skip_ratio", ".timed_records:SkipRatioResult", "skip ratio", ordered=False,
        page=PageRow("reports.pages.skip_ratio.skip_ratio_page:SKIP_RATIO", 70),
        gate=(GateRow("skip_ratio", "rules for savings of a token trie",
                      "workloads of the token trie", "harness.gate.policy:SkipRatioRule",
                      "harness.gate.speed_rules:judge_skip_ratios"),),
    )),
    CheckKind("timing", 0.2, run=".timing.run", called="timed chains", noun="timed chains",
         timed=True, cases=False, own_ids=True, measured="timed    {n} chains on {names}", tables=(
        SuiteTable("chain", ".timing.block:TimedChain", "chains to time"),
        SuiteTable("grid", ".timing.block:TimedGrid", _GRID),
    ), record=RecordRow(
        "timing", ".timed_records:TimingResult", "timing", ordered=False,
        gate=(GateRow("speed", "rules for timings", "timed chains",
                      "harness.gate.policy:SpeedRule", "harness.gate.speed_rules:judge_speed"),),
    )),
    CheckKind("throughput", 7.0, run=".throughput", called="widths", noun="widths", timed=True,
         cases=False, own_ids=True, measured="decoded  {n} settings on {names}", tables=(
        SuiteTable("grid", ".throughput:WidthGrid", _GRID, key="model"),
    ), record=RecordRow(
        "throughput", ".timed_records:ThroughputResult", "width", ordered=False,
        page=PageRow("reports.pages.throughput.throughput_page:THROUGHPUT", 60,
                     ("timing", "timing_check")),
    )),
)
