//! How a page looks.

/// The style sheet: colours are variables, so that pictures follow the page into the dark.
pub const STYLE: &str = "\
:root{--ink:#222222;--muted:#5f5f5f;--grid:#e2e2e2;--paper:#ffffff;--page:#f6f6f4;--series-0:#0072b2;--series-1:#d55e00;--series-2:#009e73;--series-3:#cc79a7;\
--series-4:#e69f00;--series-5:#56b4e9;--series-6:#787878;color-scheme:light dark}\
@media (prefers-color-scheme:dark){:root{--ink:#ececec;--muted:#a9a9a9;--grid:#3a3a3a;--paper:#1d1d1f;--page:#141415;--series-0:#4fa8e0;--series-1:#f0803c;\
--series-2:#2fc49a;--series-3:#dd9cc0;--series-4:#f0b429;--series-5:#7cc8f2;--series-6:#a0a0a0}}\
*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,'Segoe UI',Verdana,sans-serif}\
main{max-width:930px;margin:0 auto;padding:24px 18px 64px}h1{font-size:1.7rem;line-height:1.25;margin:.4em 0}h2{font-size:1.25rem;margin:2em 0 .5em}\
figure{margin:1.2em 0;padding:10px;background:var(--paper);border:1px solid var(--grid);border-radius:8px}figure svg{display:block;width:100%;height:auto}#mean-map rect{shape-rendering:crispEdges}\
figcaption,.note{color:var(--muted);font-size:.88rem;padding:4px 6px}a{color:var(--series-0)}.download{white-space:nowrap}\
.answer{background:var(--paper);border:1px solid var(--grid);border-left:8px solid var(--series-6);border-radius:8px;padding:14px 20px}\
.answer.certified{border-left-color:var(--series-2)}.answer.conformal{border-left-color:var(--series-4)}.answer.estimated{border-left-color:var(--series-1)}\
.answer .label{font-size:.85rem;font-weight:600;letter-spacing:.02em}.headline{font-size:1.35rem;line-height:1.35;margin:.25em 0 .6em;overflow-wrap:anywhere}\
dl{display:flex;flex-wrap:wrap;gap:8px 30px;margin:0 0 .6em}dt{color:var(--muted);font-size:.82rem}dd{margin:0;font-size:1.1rem;font-variant-numeric:tabular-nums}\
.table{margin-top:12px;overflow:auto;max-height:26rem;background:var(--paper);border:1px solid var(--grid);border-radius:8px}table{border-collapse:collapse;width:100%;font-size:.86rem}\
th,td{padding:4px 10px;text-align:left;border-bottom:1px solid var(--grid);white-space:nowrap}th{position:sticky;top:0;background:var(--paper)}\
td.number,th.number{text-align:right;font-variant-numeric:tabular-nums}\
pre{background:var(--paper);border:1px solid var(--grid);border-radius:8px;padding:12px;overflow:auto;font-size:.84rem;white-space:pre-wrap;overflow-wrap:anywhere}\
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;padding:0;margin:1em 0;font-size:.9rem}@media print{body{background:#fff}.table{max-height:none}}";
