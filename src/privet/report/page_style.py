"""How a report looks: light and dark, on paper and on a phone. Every rule stays inside `.privet`.

Contrast of words is at least 4.5 to 1 on either ground. Full marks are vermilion and hollow ones an outline, so that
nobody needs to see color. The band keeps its colors in the dark; on paper it is a black headline beside a thick line.
"""

STYLE = """\
.privet{--ground:#fff;--ink:#1d2329;--soft:#56606b;--line:#d9dfe5;--shade:#f3f5f7;--full:#c2410c;--hollow:#7a8692;
--seen:#0072b2;--link:#0b5a8f;color:var(--ink);background:var(--ground);
font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif;
max-width:56rem;margin:0 auto;padding:0 1.5rem 2.5rem;box-sizing:border-box;
overflow-wrap:break-word;-webkit-text-size-adjust:100%;text-size-adjust:100%}
.privet *{box-sizing:border-box}
.privet-page{margin:0;background:#e9edf1;color-scheme:light dark}
.privet-page .privet{min-height:100vh}
.privet-inline{padding-bottom:1rem;border:1px solid var(--line);border-radius:6px;overflow:hidden}
.privet .band{margin:0 -1.5rem;padding:2.4rem 1.5rem 2rem;color:#fff;background:#1f4e79}
.privet .band.bad{background:#96300b}
.privet .band.good{background:#0b6147}
.privet .band p{margin:0;max-width:70ch}
.privet .kicker{font-size:.95rem;opacity:.92;letter-spacing:.01em}
.privet h1{font-size:clamp(1.65rem,1.1rem + 2.6vw,2.6rem);line-height:1.15;font-weight:700;letter-spacing:-.015em;
margin:.45rem 0 .8rem;color:inherit;text-wrap:balance}
.privet .lead{font-size:1.08rem}
.privet section{margin-top:2.4rem}
.privet h2{font-size:1.3rem;line-height:1.3;font-weight:650;margin:0 0 .7rem;color:inherit}
.privet section>p,.privet section>ul{max-width:70ch;margin:0 0 .8rem}
.privet section>ul:not(.key){padding-left:1.25rem}
.privet section>ul>li{margin:.25rem 0}
.privet figure{margin:1rem 0}
.privet svg{display:block;max-width:100%;height:auto}
.privet .paper{display:inline-block;max-width:100%;background:#fff;border:1px solid var(--line);border-radius:6px;
padding:.4rem}
.privet figcaption{color:var(--soft);font-size:.92rem;margin-top:.6rem;max-width:70ch}
.privet .beside{display:flex;flex-wrap:wrap;gap:0 1.2rem}
.privet .beside figure{flex:1 1 20rem;max-width:27rem;margin:.6rem 0}
.privet .bar-word,.privet .bar-number{fill:var(--ink);font-size:12.5px}
.privet .bar-number{font-weight:650;font-variant-numeric:tabular-nums}
.privet .bar-claim{fill:var(--ink)}
.privet .bar-bad{fill:var(--full)}
.privet .bar-good{fill:var(--seen)}
.privet .bar-most{fill:none;stroke:var(--hollow);stroke-width:1.5;stroke-dasharray:4 3}
.privet .bar-line{stroke:var(--ink);stroke-width:1;stroke-dasharray:2 3;fill:none}
.privet .full{fill:var(--full);stroke:var(--full)}
.privet .hollow{fill:none;stroke:var(--hollow)}
.privet .key,.privet section>.key{list-style:none;display:flex;flex-wrap:wrap;gap:.3rem 1.5rem;margin:.9rem 0 0;
padding:0}
.privet section>.key{max-width:none;margin:.4rem 0 1rem}
.privet .mark{display:inline-block;width:.85em;height:.85em;margin-right:.5em;border:2px solid var(--hollow);
border-radius:2px;vertical-align:-.06em}
.privet .mark.full{background:var(--full);border-color:var(--full)}
.privet .mark.dot{background:var(--full);border-color:var(--full);border-radius:50%}
.privet .mark.gray{background:#dadada;border:1px solid var(--hollow)}
.privet .mark.line,.privet .mark.dashes{width:1.5em;height:0;border:0;border-top:3px solid var(--seen);
border-radius:0;vertical-align:.28em}
.privet .mark.dashes{border-top:2px dashed var(--ink)}
.privet .sampled{display:flex}
.privet .sample{flex:none;margin:.28em .5em 0 0}
.privet .scroll{overflow-x:auto;margin:.8rem 0 0}
.privet .scroll+p{margin-top:.8rem}
.privet .scroll:focus-visible{outline:2px solid var(--link);outline-offset:3px}
.privet table{border-collapse:collapse;width:100%;font-size:.95rem;line-height:1.4;font-variant-numeric:tabular-nums}
.privet caption{text-align:left;color:var(--soft);font-size:.92rem;padding:0 0 .5rem}
.privet caption.quiet{position:absolute;width:1px;height:1px;padding:0;overflow:hidden;clip-path:inset(50%);
white-space:nowrap}
.privet th,.privet td{text-align:left;vertical-align:top;padding:.5rem .9rem .5rem 0;border:0;
border-bottom:1px solid var(--line);background:none;max-width:28rem;overflow-wrap:anywhere;min-width:7rem}
.privet th:last-child,.privet td:last-child{padding-right:0}
.privet thead th{font-size:.86rem;font-weight:600;color:var(--soft);vertical-align:bottom;overflow-wrap:normal;
border-bottom:2px solid var(--line)}
.privet tbody th{font-weight:600;min-width:11rem}
.privet .number,.privet .short,.privet tbody .number,.privet tbody .short{min-width:0;white-space:nowrap;
overflow-wrap:normal}
.privet .number{text-align:right}
.privet thead .number,.privet thead .short{white-space:normal}
.privet .note{display:block;font-weight:400;color:var(--soft);font-size:.92em;margin-top:.15rem}
.privet .tags{list-style:none;display:flex;flex-wrap:wrap;align-content:start;
align-items:start;gap:.3rem;margin:0;padding:0}
.privet .tags li{background:var(--shade);border:1px solid var(--line);border-radius:4px;padding:.05rem .45rem;
font-size:.88em;overflow-wrap:anywhere}
.privet footer{margin-top:2.8rem;padding-top:.8rem;border-top:1px solid var(--line);color:var(--soft);font-size:.88rem}
.privet footer p{margin:0}
@media (prefers-color-scheme:dark){
.privet{--ground:#171b1f;--ink:#e7eaed;--soft:#a9b2bb;--line:#363d45;--shade:#232930;--full:#f4813f;--hollow:#7b8691;
--seen:#56b4e9;--link:#7cc0f0}
.privet-page{background:#0d1013}
.privet .paper{border-color:#fff}
}
@media screen and (max-width:640px){
.privet{padding:0 1.1rem 2rem}
.privet .band{margin:0 -1.1rem;padding:1.7rem 1.1rem 1.5rem}
.privet .stacked,.privet .stacked tbody,.privet .stacked tr,.privet .stacked th,.privet .stacked td{display:block}
.privet .stacked thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.privet .stacked tr{padding:.7rem 0;border-bottom:1px solid var(--line)}
.privet .stacked th,.privet .stacked td{border:0;padding:.14rem 0;max-width:none;text-align:left;white-space:normal}
.privet .stacked caption{display:block}
.privet .stacked td{display:grid;grid-template-columns:7.5rem minmax(0,1fr)}
.privet .stacked td:empty{display:none}
.privet .stacked td .note{grid-column:2}
.privet .stacked td::before{content:attr(data-column);color:var(--soft);font-size:.88rem;padding-right:.6rem}
}
@page{margin:17mm 16mm}
@media print{
.privet{--ground:#fff;--ink:#000;--soft:#444;--line:#bbb;--shade:#fff;--full:#c2410c;--hollow:#7a8692;
--seen:#0072b2;max-width:none;padding:0;font-size:10.5pt}
.privet-page{background:#fff;color-scheme:light}
.privet-page .privet{min-height:0}
.privet .band,.privet .band.bad,.privet .band.good{margin:0;padding:.2rem 0 .2rem 1rem;color:#000;background:none;
border-left:8px solid #1f4e79}
.privet .band.bad{border-color:#96300b}
.privet .band.good{border-color:#0b6147}
.privet h1{font-size:22pt}
.privet h2{break-after:avoid}
.privet section{margin-top:1.6rem}
.privet .scroll{overflow:visible}
.privet table{font-size:9.5pt}
.privet th,.privet td{min-width:0}
.privet .number,.privet .short{white-space:normal;overflow-wrap:break-word}
.privet .many th,.privet .many td{overflow-wrap:anywhere;padding-right:.4rem}
.privet thead{display:table-header-group}
.privet .whole,.privet tr,.privet figure,.privet li{break-inside:avoid}
.privet section:has(.whole)>p{break-after:avoid}
.privet p{orphans:3;widows:3}
.privet svg,.privet .mark,.privet .band{print-color-adjust:exact;-webkit-print-color-adjust:exact}
}"""
