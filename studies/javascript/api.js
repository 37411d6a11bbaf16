// What tsampler's API gives, a line each, in any JavaScript engine: behind a prelude that holds `api`, and
// ROWS, rows of logits as the bits of float32. studies/javascript_engines.py runs it. Written for engines
// that know no modules and no classes.

var say = typeof print !== "undefined" ? print : function (line) { console.log(line); };
var value = new Float64Array(1);
var words = new Uint32Array(value.buffer);

function bits(x) {
  value[0] = x;
  return words[1] + "." + words[0];
}

/** A set as text: ids, and the bits of logits and p. */
function written(set) {
  var parts = [];
  for (var i = 0; i < set.count; i++) parts.push(set.indices[i], bits(set.logits[i]), bits(set.probs[i]));
  return parts.join(" ");
}

var workspace = new api.SamplerWorkspace();
ROWS.forEach(function (words32, r) {
  var row = new Float32Array(Uint32Array.from(words32).buffer);
  var sets = [
    function () { return api.applyTopP(api.applyTopK(row, 256, workspace), 0.95); },
    function () { return api.applyMinP(api.applyTopK(row, 256, workspace), 0.05); },
    function () { return api.applyTypicalP(api.applyTopK(row, 0, workspace), 0.9); },
    function () { return api.applyTemperature(api.applyTopK(row, 40, workspace), 0.8); },
  ];
  sets.forEach(function (make, i) { say("set " + r + "." + i + " " + written(make())); });
  [{}, { topK: 0, penaltyRepeat: 1 }, { temperature: 1.3, topK: 0, typicalP: 0.9 }].forEach(function (params, i) {
    var history = new api.TokenHistoryTracker(64);
    var prng = new api.Xoroshiro128Plus(42 + r);
    var tokens = [];
    for (var step = 0; step < 8; step++) {
      var options = { tokenHistory: history, params: params, workspace: workspace, prng: prng, mode: "parity" };
      var token = api.sampleWithStrategy(row, options);
      tokens.push(token);
      history.accept(token);
    }
    say("tokens " + r + "." + i + " " + tokens.join(" "));
  });
  say("entropy " + r + " " + bits(api.computeModelEntropy(row)));
  for (var t = 0; t < 5; t++) say("surprisal " + r + "." + t + " " + bits(api.computeModelSurprisal(row, t * 7)));
});
