// Math.exp of numbers in -50..0 and Math.log of numbers in 0..1, N of each: argument and result by their
// bits, a line for both. For any JavaScript engine; the arguments are the same in all.

var say = typeof print !== "undefined" ? print : function (line) { console.log(line); };
var state = 1;
var value = new Float64Array(1);
var words = new Uint32Array(value.buffer);

/** 32 bits of mulberry32. */
function word() {
  state = (state + 0x6d2b79f5) | 0;
  var t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return (t ^ (t >>> 14)) >>> 0;
}

function uniform() {
  return ((word() >>> 5) * 67108864 + (word() >>> 6)) / 9007199254740992;
}

function bits(x) {
  value[0] = x;
  return words[1] + " " + words[0];
}

var lines = [];
for (var i = 0; i < N; i++) {
  var e = -50 * uniform();
  var l = uniform();
  lines.push(bits(e) + " " + bits(Math.exp(e)) + " " + bits(l) + " " + bits(Math.log(l)));
  if (lines.length === 10000) {
    say(lines.join("\n"));
    lines = [];
  }
}
