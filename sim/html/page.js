"use strict";
const D = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const el = (tag, cls, text) => { const e = document.createElement(tag); if (cls) e.className = cls; if (text !== undefined) e.textContent = text; return e; };
const short = s => (s || "").replace(/\b0{3,}([0-9a-f]+)/g, (_, d) => d.replace(/^0+(?=.)/, ""));
const N = D.events.length;
for (const k of ["events", "lanes", "objects", "laws", "facts", "story"]) D[k] = D[k] || [];

// The head.
document.querySelector("h1").textContent = D.title;
const verdict = $("verdict");
if (D.breach) {
  verdict.className = "broken";
  verdict.append(el("b", "", "Law " + D.breach.law + " is broken: "), short(D.breach.what));
} else {
  verdict.className = "holds";
  verdict.append(el("b", "", "Every law holds."));
}
for (const f of D.facts) $("facts").append(el("dt", "", f.name), el("dd", "", f.text));
$("story").querySelector("pre").textContent = D.story.join("\n");
$("story").hidden = !D.story.length;
$("story").open = D.story.length > 0;
for (const l of D.laws) {
  const s = el("span", "law" + (l.broken ? " broken" : l.looked ? "" : " unseen"), l.name + (l.broken ? ": broken" : ": " + l.looked.toLocaleString("en")));
  s.title = "evaluated " + l.looked + " times";
  $("laws").querySelector("div").append(s);
}
$("window").textContent = D.window;
for (const [cls, color, name] of [["", "read", "read"], ["", "write", "write that took effect"], ["", "miss", "write that did not"], ["thin", "soft", "reply"], ["dot", "ask", "request"], ["diamond", "fault", "fault or cut"],
  ["", "life", "object stands"], ["", "ref", "a ref names it"], ["", "watch", "a marker or intent watches it"], ["", "bare", "nothing does"]]) {
  const s = el("span"), i = el("i", cls);
  i.style.background = "var(--" + color + ")";
  s.append(i, name);
  $("legend").append(s);
}

// Where things are: by their order, or by their time.
let colors = {};
const readColors = () => { const s = getComputedStyle(document.documentElement); for (const c of ["ground", "panel", "ink", "soft", "line", "band", "star", "auditor", "client", "world", "read", "write", "miss", "fault", "ask", "note", "ref", "watch", "life", "bare", "pick"]) colors[c] = s.getPropertyValue("--" + c).trim(); };
const left = 118, laneHeight = 30, rowHeight = 18, top0 = 20;
let byTime = false, view = { from: 0, to: N }, picked = -1, filter = "", showReplies = true, hits = null;
const at = i => byTime ? (i >= N ? D.events[N - 1].at + 1 : D.events[Math.max(0, i)].at) : i;
const ends = () => byTime ? [D.events[0].at, D.events[N - 1].at + 1] : [0, N];
const lanesCanvas = $("lanes"), objectsCanvas = $("objects");
let width = 800;
const x = v => left + (v - view.from) / (view.to - view.from) * (width - left - 10);
const unx = px => view.from + (px - left) / (width - left - 10) * (view.to - view.from);

const matches = e => (e.key || "").includes(filter) || short(e.key).includes(filter) || e.proc.includes(filter) || e.what.includes(filter) || e.text.includes(filter) || short(e.text).includes(filter) || (e.changes || []).some(c => c.includes(filter) || short(c).includes(filter));
const refilter = () => { hits = filter ? new Set(D.events.flatMap((e, i) => matches(e) ? [i] : [])) : null; };
const objects = () => filter ? D.objects.filter(o => o.key.includes(filter) || short(o.key).includes(filter) || o.watched && o.watched.some(w => w.row.includes(filter))) : D.objects;

function size(canvas, height) {
  const ratio = devicePixelRatio || 1;
  width = canvas.parentElement.clientWidth;
  canvas.style.width = width + "px"; canvas.style.height = height + "px";
  canvas.width = width * ratio; canvas.height = height * ratio;
  const c = canvas.getContext("2d");
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  return c;
}
function axis(c, height) {
  const span = view.to - view.from, step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000].find(s => s * (width - left) / span > 80) || span;
  c.font = "11px system-ui, sans-serif"; c.textBaseline = "middle";
  for (let v = Math.ceil(view.from / step) * step; v <= view.to; v += step) {
    const px = x(v);
    c.strokeStyle = colors.line; c.beginPath(); c.moveTo(px, top0 - 4); c.lineTo(px, height); c.stroke();
    c.fillStyle = colors.soft; c.textAlign = "center";
    c.fillText(byTime ? v + " ms" : "" + (D.events[Math.min(N - 1, Math.max(0, Math.round(v)))] || {}).n, px, 9);
  }
  if (D.breach) {
    const px = x(at(D.breach.event));
    c.strokeStyle = colors.fault; c.lineWidth = 1.5; c.setLineDash([4, 3]); c.beginPath(); c.moveTo(px, top0 - 6); c.lineTo(px, height); c.stroke(); c.setLineDash([]); c.lineWidth = 1;
  }
  if (picked >= 0) {
    const px = x(at(picked));
    c.strokeStyle = colors.pick; c.beginPath(); c.moveTo(px, top0 - 6); c.lineTo(px, height); c.stroke();
  }
}
const clipRight = c => { c.save(); c.beginPath(); c.rect(left, 0, width - left, 1e5); c.clip(); };
const laneY = i => top0 + i * laneHeight + laneHeight / 2;

function drawLanes() {
  const height = top0 + D.lanes.length * laneHeight + 4, c = size(lanesCanvas, height);
  D.lanes.forEach((l, i) => {
    if (i % 2) { c.fillStyle = colors.band; c.fillRect(0, top0 + i * laneHeight, width, laneHeight); }
    c.fillStyle = colors[l.role] || colors.soft; c.textAlign = "left"; c.textBaseline = "middle"; c.font = "600 12px system-ui, sans-serif";
    c.fillText(l.name, 14, laneY(i));
  });
  clipRight(c);
  axis(c, height);
  D.lanes.forEach((l, i) => {
    for (const f of l.life || []) {
      const a = x(at(f.from)), b = f.to < 0 ? x(view.to) : x(at(f.to));
      if (b < left || a > width) continue;
      c.globalAlpha = .28; c.fillStyle = colors[l.role] || colors.soft; c.fillRect(a, laneY(i) - 3, Math.max(2, b - a), 6); c.globalAlpha = 1;
      if (b - a > 70) { c.fillStyle = colors.soft; c.font = "10px system-ui, sans-serif"; c.textAlign = "left"; c.fillText(f.name, Math.max(a, left) + 3, laneY(i) - 10); }
      if (f.cut) { const y = laneY(i); c.strokeStyle = colors.fault; c.lineWidth = 2; c.beginPath(); c.moveTo(b - 4, y - 6); c.lineTo(b + 4, y + 6); c.moveTo(b + 4, y - 6); c.lineTo(b - 4, y + 6); c.stroke(); c.lineWidth = 1; }
    }
  });
  const dense = (width - left) / Math.max(1, view.to - view.from);
  for (let i = 0; i < N; i++) {
    const e = D.events[i], px = x(at(i));
    if (px < left - 5 || px > width + 5) continue;
    if (hits && !hits.has(i)) c.globalAlpha = .12;
    mark(c, e, px, laneY(e.lane), Math.max(2, Math.min(7, dense * .7)));
    c.globalAlpha = 1;
  }
  if (picked >= 0) { c.strokeStyle = colors.pick; c.lineWidth = 2; c.beginPath(); c.arc(x(at(picked)), laneY(D.events[picked].lane), 9, 0, 7); c.stroke(); c.lineWidth = 1; }
  c.restore();
}
const kind = e => e.what === "FAULT" || e.what === "BREACH" || e.what === "down" || e.what === "pause" || e.what === "flaky" ? "fault" : e.what === "ask" ? "ask" : e.what === "reply" ? "reply" : e.what === "note" ? "note" : e.writes ? (e.changes ? "write" : "miss") : e.changes ? "write" : e.op ? "read" : "other";
function mark(c, e, px, y, w) {
  switch (kind(e)) {
    case "fault": c.fillStyle = colors.fault; c.save(); c.translate(px, y); c.rotate(Math.PI / 4); c.fillRect(-5, -5, 10, 10); c.restore(); break;
    case "ask": c.fillStyle = colors.ask; c.beginPath(); c.arc(px, y, 3.5, 0, 7); c.fill(); break;
    case "reply": if (showReplies) { c.fillStyle = colors.soft; c.fillRect(px - .5, y + 4, 1.2, 7); } break;
    case "write": c.fillStyle = colors.write; c.fillRect(px - w / 2, y - 10, w, 14); break;
    case "miss": c.fillStyle = colors.miss; c.fillRect(px - w / 2, y - 10, w, 14); break;
    case "read": c.fillStyle = colors.read; c.fillRect(px - w / 2, y - 5, w, 9); break;
    case "note": c.fillStyle = colors.note; c.fillRect(px - .5, y - 8, 1.2, 4); break;
    default: c.fillStyle = colors.soft; c.beginPath(); c.arc(px, y, 1.6, 0, 7); c.fill();
  }
}
function drawObjects() {
  const os = objects(), height = top0 + Math.max(1, os.length) * rowHeight + 6, c = size(objectsCanvas, height);
  os.forEach((o, i) => {
    const y = top0 + i * rowHeight;
    if (i % 2) { c.fillStyle = colors.band; c.fillRect(0, y, width, rowHeight); }
  });
  clipRight(c);
  axis(c, height);
  os.forEach((o, i) => {
    const y = top0 + i * rowHeight;
    const spans = (o.watched || []).map(w => [w.from, w.to < 0 ? N : w.to, w.kind === "ref"]);
    for (const l of o.lives) {
      const a = x(at(l.from)), b = l.to < 0 ? x(view.to) : x(at(l.to)), end = l.to < 0 ? N : l.to;
      c.fillStyle = colors.life; c.fillRect(a, y + 11, Math.max(2, b - a), 4);
      // Where nothing names or watches it, the life itself is red.
      let edge = l.from;
      for (const [f, t] of [...spans].sort((p, q) => p[0] - q[0])) { if (f > edge && edge < end) bare(c, edge, Math.min(f, end), y); edge = Math.max(edge, t); }
      if (edge < end) bare(c, edge, end, y);
      for (const [wf, wt, ref] of spans) { const f = Math.max(wf, l.from), t = Math.min(wt, end); if (f >= t) continue; c.fillStyle = ref ? colors.ref : colors.watch; const p = x(at(f)); c.fillRect(p, y + (ref ? 3 : 7), Math.max(1.5, x(at(t)) - p), 3); }
    }
  });
  c.restore();
  c.textBaseline = "middle"; c.textAlign = "left"; c.font = "10.5px ui-monospace, Menlo, Consolas, monospace";
  os.forEach((o, i) => { c.fillStyle = o.named ? colors.fault : colors.ink; const t = short(o.key).replace(/^(chain|data)\//, ""); c.fillText(t.length > 17 ? "…" + t.slice(-16) : t, 8, top0 + i * rowHeight + rowHeight / 2); });
  if (!os.length) { c.fillStyle = colors.soft; c.fillText("no object has that in its key", left + 8, top0 + 9); }
}
const bare = (c, f, t, y) => { const p = x(at(f)), q = x(at(t)); if (q - p > .4) { c.fillStyle = colors.bare; c.fillRect(p, y + 11, q - p, 4); } };
function draw() { readColors(); drawLanes(); drawObjects(); }

// Moving about.
function zoom(by, around) { const c = around === undefined ? (view.from + view.to) / 2 : around; set(c - (c - view.from) * by, c + (view.to - c) * by); }
function set(f, t) {
  const [lo, hi] = ends(), span = Math.min(hi - lo, Math.max(byTime ? 2 : 8, t - f));
  f = Math.max(lo, Math.min(f, hi - span));
  view = { from: f, to: f + span };
  draw();
}
function toEnd() { const [lo, hi] = ends(); set(hi - Math.min(hi - lo, byTime ? (hi - lo) / 8 : 160), hi); }
for (const canvas of [lanesCanvas, objectsCanvas]) {
  let from = null, moved = false;
  canvas.addEventListener("wheel", ev => {
    if (ev.shiftKey || Math.abs(ev.deltaX) > Math.abs(ev.deltaY)) { const d = (ev.deltaX || ev.deltaY) / (width - left) * (view.to - view.from); set(view.from + d, view.to + d); }
    else if (canvas === lanesCanvas || ev.ctrlKey) zoom(Math.pow(1.0016, ev.deltaY), unx(ev.offsetX));
    else return;
    ev.preventDefault();
  }, { passive: false });
  canvas.addEventListener("pointerdown", ev => { from = { x: ev.clientX, f: view.from, t: view.to }; moved = false; canvas.setPointerCapture(ev.pointerId); });
  canvas.addEventListener("pointermove", ev => {
    if (from) { const d = (from.x - ev.clientX) / (width - left) * (from.t - from.f); if (Math.abs(ev.clientX - from.x) > 3) moved = true; if (moved) set(from.f + d, from.t + d); return; }
    tip(ev, canvas);
  });
  canvas.addEventListener("pointerup", ev => { if (from && !moved) canvas === lanesCanvas ? pick(nearest(ev.offsetX, ev.offsetY)) : pickObject(objectAt(ev.offsetY)); from = null; });
  canvas.addEventListener("pointerleave", () => { $("tip").style.display = "none"; });
}
function nearest(px, py) {
  const lane = Math.floor((py - top0) / laneHeight);
  let best = -1, far = 14;
  for (let i = 0; i < N; i++) {
    const e = D.events[i];
    if (e.lane !== lane || !showReplies && e.what === "reply") continue;
    const d = Math.abs(x(at(i)) - px) + (hits && !hits.has(i) ? 6 : 0);
    if (d < far) { best = i; far = d; }
  }
  return best;
}
const objectAt = py => objects()[Math.floor((py - top0) / rowHeight)];
function tip(ev, canvas) {
  const t = $("tip");
  let text = "";
  if (canvas === lanesCanvas) { const i = nearest(ev.offsetX, ev.offsetY); if (i >= 0) { const e = D.events[i]; text = e.at + " ms  " + e.proc + "  " + e.what + "  " + short(e.text); } }
  else { const o = objectAt(ev.offsetY); if (o) { const v = unx(ev.offsetX); text = short(o.key) + "\u2003" + (o.watched || []).filter(w => at(w.from) <= v && (w.to < 0 || at(w.to) > v)).map(w => w.kind + " " + short(w.row)).join("; "); } }
  t.style.display = text ? "block" : "none";
  t.textContent = text.slice(0, 300);
  t.style.left = Math.min(innerWidth - 490, ev.clientX + 14) + "px"; t.style.top = ev.clientY + 14 + "px";
}

// One event.
function stateAt(i) {
  // The states of a process are a chain of changes: follow it.
  const proc = D.events[i].proc;
  let before = "", now = "", known = false;
  for (let k = 0; k <= i; k++) {
    const e = D.events[k];
    if (e.proc !== proc || !e.state) continue;
    if (e.before) now = e.before;
    before = now;
    now = now.slice(0, e.state.f) + e.state.t + (e.state.b ? now.slice(now.length - e.state.b) : "");
    known = true;
  }
  return D.events[i].state ? { before, now, known } : { before: now, now, known };
}
function part(text, other) {
  let f = 0; while (f < text.length && f < other.length && text[f] === other[f]) f++;
  let b = 0; while (b < text.length - f && b < other.length - f && text[text.length - 1 - b] === other[other.length - 1 - b]) b++;
  const p = el("pre", "mono state");
  p.append(text.slice(0, f)); if (f < text.length - b) p.append(el("mark", "", text.slice(f, text.length - b))); p.append(text.slice(text.length - b));
  return p;
}
function pick(i) {
  if (i < 0) return;
  picked = i;
  const e = D.events[i], d = $("detail");
  d.replaceChildren();
  d.append(el("h3", "", e.what + (e.op ? " " + e.op : "") + (e.out ? " → " + e.out : "")));
  d.append(el("div", "hint", e.at + " ms" + (e.n ? ", line " + e.n + " of the log" : "")));
  const put = (name, text) => { if (text) d.append(el("h4", "", name), el("p", "mono", text)); };
  put("process", e.proc + (e.path ? "  at " + e.path : ""));
  put("key", e.key);
  put("what", e.text);
  if (e.changes) { const u = el("ul", "mono"); for (const c of e.changes) u.append(el("li", "", short(c))); d.append(el("h4", "", "it changed"), u); }
  if (e.proc) {
    const s = stateAt(i);
    if (s.known) {
      if (e.state && s.before !== s.now) { d.append(el("h4", "", "state before"), part(s.before, s.now), el("h4", "", "state after"), part(s.now, s.before)); d.querySelectorAll("mark").forEach(m => m.scrollIntoView({ block: "nearest" })); }
      else d.append(el("h4", "", "state"), part(s.now, s.now));
    } else if (e.state === undefined) d.append(el("p", "hint", "No state is known of it here."));
  }
  d.scrollTop = 0;
  draw();
}
function pickObject(o) {
  if (!o) return;
  const d = $("detail");
  d.replaceChildren(el("h3", "", "object"), el("p", "mono", o.key));
  for (const l of o.lives) d.append(el("div", "hint", "from line " + D.events[l.from].n + (l.to < 0 ? ", it stands" : " to line " + D.events[l.to].n)));
  const u = el("ul", "mono");
  for (const w of o.watched || []) u.append(el("li", "", w.kind + ": " + short(w.row) + "  (line " + D.events[w.from].n + (w.to < 0 ? " on" : " to " + D.events[Math.min(N - 1, w.to)].n) + ")"));
  d.append(el("h4", "", "named or watched by"), u);
  const b = el("button", "", "show its events");
  b.onclick = () => { $("filter").value = filter = short(o.key); refilter(); draw(); };
  d.append(b);
}
addEventListener("keydown", ev => {
  if (picked < 0 || ev.target.tagName === "INPUT" || ev.key !== "ArrowRight" && ev.key !== "ArrowLeft") return;
  const by = ev.key === "ArrowRight" ? 1 : -1, lane = D.events[picked].lane;
  for (let i = picked + by; i >= 0 && i < N; i += by) if (D.events[i].lane === lane && (!hits || hits.has(i))) {
    if (at(i) < view.from || at(i) > view.to) { const h = (view.to - view.from) / 2; view = { from: at(i) - h, to: at(i) + h }; }
    pick(i); break;
  }
  ev.preventDefault();
});
$("filter").oninput = ev => { filter = ev.target.value.trim(); refilter(); draw(); };
$("replies").onchange = ev => { showReplies = ev.target.checked; draw(); };
$("axis").onchange = ev => { const f = Math.round(byTime ? 0 : view.from), t = Math.round(byTime ? N : view.to); byTime = ev.target.value === "time"; byTime ? set(at(f), at(t)) : set(0, N); };
$("all").onclick = () => set(...ends());
$("in").onclick = () => zoom(.5);
$("out").onclick = () => zoom(2);
$("end").onclick = toEnd;
addEventListener("resize", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
// It opens where something goes wrong: at the breach, or else at the first fault.
function begin() {
  if (!N) return;
  if (!D.breach) {
    const f = Math.max(0, Math.min(D.opens - 100, N - 400));
    picked = D.opens;
    set(f, Math.min(N, f + 400));
    D.objects.length ? pickObject(D.objects[0]) : pick(D.opens);
    return;
  }
  toEnd();
  const b = D.breach.event, i = [b + 1, b + 2, b - 1, b].find(k => D.events[k] && D.events[k].changes);
  pick(i === undefined ? b : i);
}
begin();
