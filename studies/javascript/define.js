// `tsc --module amd` writes modules that call this: each names those before it.
var made = {};
function define(name, needs, make) {
  var exports = (made[name] = {});
  make.apply(null, needs.map(function (need) {
    if (need === "require") return null;
    return need === "exports" ? exports : made[need];
  }));
}
