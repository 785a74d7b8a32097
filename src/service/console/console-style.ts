/** Served as `/console.css`. Colour is kept for meaning: a state, the age of a proof, the purpose of a request. */
export const CONSOLE_STYLE = `/* Sluice console. Colour is kept for meaning: a state, the age of a proof, the purpose of a request. */
:root{
  color-scheme:light dark;
  --bg:#f8f8f6;--card:#fff;--sunk:#f1f1ee;--line:#e3e2dd;--edge:#84898e;
  --ink:#191b1d;--soft:#5a6066;--focus:#2456c4;
  --good:#0f6e4c;--busy:#2456c4;--warn:#875000;--bad:#b3261e;--bad-bg:#fdf3f2;--bad-line:#f0cfcc;
  --p0:#0e6f64;--p0-ink:#fff;--p1:#7cc4b8;--p2:#b5ded6;--p3:#dff0ec;--p4:#f1f1ee;--p-ink:#10302b;
  --q1:#1f4fb5;--q2:#5b8be6;--q3:#a9c5f5;--q4:#8a63c9;--q5:#454f5c;--q6:#8b939c;
  --s1:4px;--s2:8px;--s3:12px;--s4:16px;--s5:24px;--s6:40px;--tap:32px;
  --sans:-apple-system,"Segoe UI",Roboto,Arial,sans-serif;
  --mono:ui-monospace,Menlo,Consolas,monospace}
@media (prefers-color-scheme: dark){
  :root{
    --bg:#0e1012;--card:#15181b;--sunk:#1c2024;--line:#292e33;--edge:#737a81;
    --ink:#e9ebed;--soft:#9da5ad;--focus:#8ab0ff;
    --good:#5cc79c;--busy:#8ab0ff;--warn:#e3b05c;--bad:#ff8f85;--bad-bg:#211616;--bad-line:#4a2826;
    --p0:#63d2c2;--p0-ink:#06221d;--p1:#267469;--p2:#1f5d55;--p3:#1b413d;--p4:#1c2024;--p-ink:#e9f6f3;
    --q1:#8ab0ff;--q2:#5580d6;--q3:#35539a;--q4:#b194e8;--q5:#c3cad2;--q6:#6d757e}
}

/* ground */
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:14px/1.5 var(--sans);font-variant-numeric:tabular-nums}
h1,h2,h3,p,ul,ol,dl,dd,figure,table,pre{margin:0;padding:0}
ul,ol{list-style:none}
h1{font-size:24px;line-height:1.25;font-weight:600;letter-spacing:-.015em;text-wrap:balance}
h2,.h2{font-size:15px;line-height:1.4;font-weight:600;letter-spacing:0}
h3{font-size:14px;font-weight:600}
a{color:inherit;text-decoration:underline;text-decoration-color:var(--edge);text-underline-offset:3px;text-decoration-thickness:1px}
a:hover{text-decoration-color:currentColor;text-decoration-thickness:2px}
:focus-visible{outline:2px solid var(--focus);outline-offset:2px;border-radius:3px}
code,pre,textarea{font-family:var(--mono);font-size:12.5px}
abbr{text-decoration:none}
.after{margin-top:var(--s3)}
[hidden]{display:none !important}
.soft,.nil,.crumb,.live,.axis,.key,.foot,figcaption,summary,dt,th,del{color:var(--soft)}
.crumb,.live,.key,.cost,th{font-size:13px} .axis,figcaption{font-size:12px}
.num{text-align:right;white-space:nowrap} .last{padding-left:var(--s4)}
.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.skip{position:absolute;left:-999px} .skip:focus{left:var(--s3);top:var(--s2);background:var(--card);padding:var(--s2)}

/* frame */
.top{display:flex;align-items:center;gap:0 var(--s5);padding:0 var(--s5);background:var(--card);border-bottom:1px solid var(--line)}
.top .brand{font-weight:650;text-decoration:none;letter-spacing:-.01em}
.top nav{display:flex;gap:var(--s4)}
.top nav a{padding:14px 2px 12px;border-bottom:2px solid transparent;color:var(--soft);text-decoration:none}
.top nav a:hover,.top nav [aria-current]{color:var(--ink)} .top nav [aria-current]{border-color:currentColor}
.live{margin-left:auto}
main{max-width:1168px;margin:0 auto;padding:var(--s5) var(--s5) var(--s6);display:grid;gap:var(--s5)}
main>*,.grid>*{min-width:0}
.grid{display:grid;gap:var(--s4)} .two{grid-template-columns:repeat(2,minmax(0,1fr))} .three{grid-template-columns:repeat(3,minmax(0,1fr))} .four{grid-template-columns:repeat(auto-fit,minmax(220px,1fr))}
.wide{grid-template-columns:minmax(0,2fr) minmax(0,1fr);align-items:start} .side{grid-template-columns:minmax(0,1fr) 264px;align-items:start}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:var(--s4)}
.head{display:flex;align-items:baseline;justify-content:space-between;gap:var(--s1) var(--s4);flex-wrap:wrap;margin-bottom:var(--s3)}
.row{display:flex;align-items:center;gap:var(--s2);flex-wrap:wrap}
.col{display:grid;gap:var(--s4);align-content:start;min-width:0} .col>*{min-width:0}
.crumb{grid-column:1/-1}

/* verdict and states: a shape, a word, then a colour */
.i{width:16px;height:16px;flex:none;vertical-align:-3px}
.good{color:var(--good)} .busy{color:var(--busy)} .warn{color:var(--warn)} .bad{color:var(--bad)}
.state{white-space:nowrap} .state .i{margin-right:6px} .state.good{color:var(--soft)} .state.good .i{color:var(--good)}
.verdict{display:grid;grid-template-columns:28px minmax(0,1fr) auto;gap:var(--s1) var(--s3);align-items:start}
.verdict>.i{width:28px;height:28px;margin-top:1px} .verdict div>p{max-width:92ch;margin-top:var(--s1);text-wrap:pretty}

/* incidents: what is wrong on the left, what to do about it on the right */
.trouble{background:var(--bad-bg);border:1px solid var(--bad-line);border-radius:8px}
.trouble li{display:grid;grid-template-columns:16px minmax(0,1fr) minmax(0,1.1fr);gap:var(--s1) var(--s3);padding:var(--s4)}
.trouble li+li{border-top:1px solid var(--bad-line)} .trouble .i{margin-top:3px}
.trouble h2{font-size:inherit} .trouble h2 .soft{font-weight:400;white-space:nowrap}
.cmd{display:flex;align-items:center;margin-top:var(--s1);background:var(--card);border:1px solid var(--line);border-radius:6px}
.cmd code{flex:1;min-width:0;padding:6px 10px;user-select:all;overflow-wrap:anywhere}
.cmd+p,.soft+.cmd{margin-top:6px} .cmd span{white-space:nowrap} .cmd button{border-width:0 0 0 1px;border-radius:0 5px 5px 0;border-color:var(--line);align-self:stretch}

/* figures */
.big{font-size:24px;line-height:1.2;font-weight:600;letter-spacing:-.02em}
.big small{font-size:14px;font-weight:400;letter-spacing:0}
.pair{display:flex;justify-content:space-between;align-items:end;gap:var(--s2) var(--s3)} figcaption{text-align:right}
.kv{display:grid;align-content:start;grid-template-columns:auto minmax(0,1fr);gap:var(--s1) var(--s4)}
.kv dd{overflow-wrap:anywhere} .kv.end dd{text-align:right}
.alone{grid-template-columns:minmax(300px,1fr) minmax(0,2.4fr);align-items:start}
.sources{gap:0 var(--s4)} .sources>.card{display:grid;grid-template-rows:subgrid;grid-row:span 8;align-content:start}
.card>hr{border:0;border-top:1px solid var(--line);margin:var(--s3) -16px}
.foot{display:flex;gap:var(--s1) var(--s4);flex-wrap:wrap} .foot b{font-weight:600;color:var(--ink)}
.spark{width:112px;height:34px;flex:none;overflow:visible}
.spark path{fill:none;stroke:var(--soft);stroke-width:1.5;vector-effect:non-scaling-stroke} .spark .now{stroke:currentColor;stroke-width:6;stroke-linecap:round}
.spark .base{stroke:var(--line);stroke-width:1} .bars .limit{stroke:var(--edge);stroke-width:1;stroke-dasharray:3 3}
.meter{display:block;width:100%;height:8px;border-radius:4px;background:var(--sunk);margin:var(--s1) 0 var(--s2);box-shadow:inset 0 0 0 1px var(--line);overflow:hidden}
.q1{fill:var(--q1)} .q2{fill:var(--q2)} .q3{fill:var(--q3)} .q4{fill:var(--q4)} .q5{fill:var(--q5)} .q6{fill:var(--q6)}
.bars{display:block;width:100%;height:132px;overflow:visible;border-bottom:1px solid var(--edge)}
.bars path{vector-effect:non-scaling-stroke}
.axis{display:flex;justify-content:space-between}
.key{display:flex;flex-wrap:wrap;gap:var(--s1) var(--s4);margin-top:var(--s3)} .key+p{margin-top:var(--s2)} .key svg{width:12px;height:12px;margin-right:6px;vertical-align:-1px}
details{margin-top:var(--s3)} summary{cursor:pointer;min-height:var(--tap);padding-top:6px;width:max-content;max-width:100%} .card>details:first-child{margin:0} details details{margin:0 0 0 var(--s4)} .columns{margin:0 0 var(--s2) var(--s4)}

/* tables */
table{width:100%;border-collapse:collapse}
th{text-align:left;font-weight:400;white-space:nowrap}
th,td{padding:7px var(--s4) 7px 0;border-bottom:1px solid var(--line);vertical-align:top} tr>:last-child{padding-right:0}
tbody tr:last-child>*{border-bottom:0} table:not(.cal) tbody tr:hover>*{background:var(--sunk)} tbody th{color:var(--ink);font-weight:500;font-size:inherit}
th.num{text-align:right}
.scroll{position:relative;overflow-x:auto}

/* calendar of proofs */
.p0{background:var(--p0);fill:var(--p0)} .p1{background:var(--p1);fill:var(--p1)} .p2{background:var(--p2);fill:var(--p2)} .p3{background:var(--p3);fill:var(--p3)} .p4{background:var(--p4);fill:var(--p4)}
.never{background:repeating-linear-gradient(135deg,var(--edge) 0 1px,transparent 1px 6px)} .never span{background:var(--card);padding:0 3px}
.cal{border-collapse:separate;border-spacing:3px;table-layout:fixed}
.cal th,.cal td{padding:0;border:0;font-size:12px;text-align:center;vertical-align:middle}
.cal tbody th,.cal thead td{width:48px;text-align:left}
.cal tbody td{border-radius:4px} .cal a{display:block;padding:0;line-height:34px;text-decoration:none;color:var(--p-ink);border-radius:4px} .cal .p0 a{color:var(--p0-ink)} .cal .p4,.cal .never{box-shadow:inset 0 0 0 1px var(--line)}
.cal a:hover{box-shadow:0 0 0 2px var(--ink)}

/* story of a record */
.story>li{position:relative;padding:0 0 var(--s5) var(--s5)} .story>li:last-child{padding-bottom:0}
.story>li::before{content:"";position:absolute;left:7px;top:20px;bottom:-4px;border-left:1px solid var(--line)} .story>li:last-child::before{display:none}
.story>li>.i{position:absolute;left:0;top:3px;background:var(--card)} .story .head{margin:0}
.diff{margin:var(--s2) 0;width:auto} .diff td,.diff th{padding:2px var(--s2) 2px 0;border:0} ins{text-decoration:none;font-weight:600}

/* forms and orders */
.field{display:grid;gap:2px} .field>span{font-size:13px;color:var(--soft)}
.fields{display:flex;flex-wrap:wrap;gap:var(--s3);align-items:end} .filter{align-items:end;margin-bottom:var(--s3)} .field input{width:auto}
.tick{display:flex;gap:var(--s2);align-items:center;flex-basis:100%;min-height:var(--tap)} .tick input{width:20px;height:20px;min-height:0;margin:0;flex:none;resize:none}
.queue>li{padding:var(--s3) 0;border-bottom:1px solid var(--line)} .queue>li:first-child{padding-top:0} .queue>li:last-child{border-bottom:0;padding-bottom:0} .queue .head{margin-bottom:var(--s1)}
.reason{max-width:60ch;overflow-wrap:anywhere}

.payload{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--sunk);border-radius:6px;padding:var(--s3);max-height:400px;overflow:auto}
.scroll td,.scroll th{max-width:48ch;overflow:hidden;text-overflow:ellipsis}

/* things to press */
button,.btn,select,input,textarea{border:1px solid var(--edge);border-radius:6px;background:var(--card);color:var(--ink)}
button,.btn,select,input{font:inherit;min-height:var(--tap);padding:0 var(--s3);max-width:100%} textarea{padding:var(--s3)}
button,.btn{cursor:pointer;display:inline-flex;align-items:center;gap:6px;text-decoration:none;white-space:nowrap}
button:hover,.btn:hover{background:var(--sunk)}
.cost{opacity:.75}
.main{background:var(--ink);border-color:var(--ink);color:var(--bg)} .main:hover{background:var(--soft)}
textarea,input{width:100%;line-height:1.6;resize:vertical;display:block;white-space:pre;overflow-x:auto}
.tabs{display:flex;gap:var(--s1)} .tabs a{padding:3px 10px;border-radius:6px;text-decoration:none;color:var(--soft)} .tabs [aria-current]{background:var(--sunk);color:var(--ink);font-weight:500}
.picks button{border:0;background:none;width:calc(100% + 20px);margin:0 -10px;padding:7px 10px;white-space:normal;text-align:left;text-decoration:underline;text-decoration-color:var(--edge);text-underline-offset:3px} .picks button:hover,.picks button[aria-current]{background:var(--sunk)}

@media (max-width: 1100px){.alone{grid-template-columns:minmax(0,1fr)} }
@media (max-width: 900px){.three,.wide,.side{grid-template-columns:minmax(0,1fr)} }
@media (max-width: 700px){
  :root{--tap:44px}
  body{font-size:15px} textarea,input{font-size:16px}
  h1{font-size:21px} main{padding:var(--s4) var(--s4) var(--s6);gap:var(--s4)} .two{grid-template-columns:minmax(0,1fr)} .four{grid-template-columns:1fr 1fr;gap:var(--s2)} .four .card{padding:var(--s3)} .sources{gap:var(--s4) 0}
  .top{flex-wrap:wrap;padding:0 var(--s4)} .top .brand{padding:var(--s3) 0 0} .live{padding-top:var(--s3)} .top nav{order:1;width:100%;justify-content:space-between} .top nav a{min-width:44px;text-align:center;padding:12px 2px 10px}
  .verdict{grid-template-columns:24px minmax(0,1fr)} .verdict>.i{width:24px;height:24px}
  .trouble li{grid-template-columns:16px minmax(0,1fr)} .trouble li>:last-child{grid-column:2;margin-top:var(--s2)}
  .stack thead{position:absolute;clip-path:inset(50%)} .stack,.stack tbody{display:block}
  .stack tr{display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:var(--s1) var(--s2);padding:var(--s3) 0;border-bottom:1px solid var(--line)} .stack tr:last-child{border:0}
  .stack td,.stack th{border:0;padding:0;text-align:left;white-space:normal} .stack td[data-l]::before{content:attr(data-l);display:block;font-size:12px;color:var(--soft)}
  .stack tbody th{grid-column:1 / 3;order:-2} .stack .last{grid-column:3 / 4;order:-1;text-align:right} .stack .last .state{white-space:normal} .stack .reason{text-align:left} .stack .nil{display:none}
  .cal{border-spacing:2px} .cal tbody th,.cal thead td{width:34px} .cal th,.cal td{font-size:10.5px;letter-spacing:-.03em} .cal a{line-height:44px} .m3{display:none}
  :where(p,td,th,dd,.head)>a{padding-block:11px}
  .tabs a{padding:11px}
}
`;
