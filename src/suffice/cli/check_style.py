"""CSS of the HTML report, for light and dark mode."""

from __future__ import annotations

STYLE = """
:root{color-scheme:light dark;--back:#fff;--soft:#f6f7f9;--line:#d9dde3;--text:#1b1f24;
--dim:#5b6470;--good:#18794e;--bad:#c62a2f;--weak:#946800;--none:#6b7280;
--good-bg:#e3f6ea;--bad-bg:#fde6e6;--weak-bg:#fdf2d0;--none-bg:#ebedf0}
@media (prefers-color-scheme:dark){:root{--back:#14171a;--soft:#1c2024;--line:#343a41;
--text:#e8eaed;--dim:#9aa4b0;--good:#5fd39a;--bad:#ff9592;--weak:#f2c94c;--none:#a3acb8;
--good-bg:#12331f;--bad-bg:#46191b;--weak-bg:#3a2f0b;--none-bg:#2a2f35}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
header{padding:1.4rem 2rem 1rem;border-bottom:1px solid var(--line);background:var(--soft);
border-top:6px solid var(--weak)}
header.good{border-top-color:var(--good)}header.bad{border-top-color:var(--bad)}
header p{margin:.2rem 0}.action{font-size:1.5rem;font-weight:700;letter-spacing:.02em}
header.good .action{color:var(--good)}header.bad .action{color:var(--bad)}
header.mixed .action{color:var(--weak)}
.asked{color:var(--dim)}.asked::before{content:"Question: "}
dl{display:flex;flex-wrap:wrap;gap:.3rem 1.6rem;margin:.8rem 0}dl div{display:flex;gap:.4rem}
dt{color:var(--dim)}dd{margin:0;font-weight:600}
header ul{margin:.4rem 0;padding-left:1.2rem;color:var(--dim)}
main{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:2rem;padding:1rem 2rem 4rem;
max-width:1500px;margin:0 auto}
.right{position:sticky;top:0;align-self:start;max-height:100vh;overflow:auto;padding-bottom:2rem}
h2{font-size:.85rem;text-transform:uppercase;letter-spacing:.08em;color:var(--dim);
margin:1.2rem 0 .6rem}
h3{font-size:1rem;margin:0}.n{color:var(--dim);font-weight:600}
.answer,.text{white-space:pre-wrap;overflow-wrap:anywhere}.answer{font-size:1.08rem}
a{color:inherit}
.claim{text-decoration:none;border-radius:3px;padding:.05em .15em;border-bottom:2px solid}
.claim.backed{background:var(--good-bg);border-color:var(--good)}
.claim.contradicted{background:var(--bad-bg);border-bottom:3px double var(--bad)}
.claim.unbacked{background:var(--weak-bg);border-bottom-style:dashed;border-color:var(--weak)}
.claim.unchecked{background:var(--none-bg);border-bottom-style:dotted;border-color:var(--none)}
.legend{font-size:.9rem}.legend .claim{margin-right:.5rem}
.card,.passage{border:1px solid var(--line);border-radius:8px;padding:.7rem 1rem;margin:.7rem 0}
.card{border-left:4px solid var(--none)}.card p{margin:.25rem 0}
.card.backed{border-left-color:var(--good)}.card.contradicted{border-left-color:var(--bad)}
.card.unbacked{border-left-color:var(--weak)}
.badge{font-size:.78rem;font-weight:700;text-transform:uppercase;letter-spacing:.03em}
.badge.backed{color:var(--good)}.badge.contradicted{color:var(--bad)}
.badge.unbacked{color:var(--weak)}.badge.unchecked{color:var(--none)}
.said{text-decoration:none;overflow-wrap:anywhere}.reason,.about{color:var(--dim)}
.about{font-size:.88rem;margin:.1rem 0 .4rem}.omitted{color:var(--weak)}
summary{cursor:pointer;color:var(--dim);font-size:.85rem}
table{border-collapse:collapse;font-size:.85rem;width:100%}
td{padding:.15rem .5rem .15rem 0;vertical-align:top;border-top:1px solid var(--line)}
mark{color:inherit;border-radius:3px;padding:.05em 0}mark a{text-decoration:none}
mark.backed{background:var(--good-bg);box-shadow:0 2px 0 var(--good)}
mark.contradicted{background:var(--bad-bg);box-shadow:0 2px 0 var(--bad)}
mark.unbacked{background:var(--weak-bg);box-shadow:0 2px 0 var(--weak)}
mark.near{background:none;border-bottom:1px dashed var(--dim)}
mark.unchecked{background:var(--none-bg);box-shadow:0 2px 0 var(--none)}
i:target+mark,i:target+i+mark,.passage:target,.card:target,.claim:target{outline:3px solid #4c8bf5;
outline-offset:2px}
a:focus-visible{outline:3px solid #4c8bf5}
@media (max-width:900px){main{grid-template-columns:minmax(0,1fr);padding:1rem}
header{padding:1rem}.right{position:static;max-height:none}}
"""
