/** Inline, because the page loads nothing; the content security policy holds its hash, so it must be rendered unchanged. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --line: #8884; --dim: #555; --bad: #b00020; --good: #1b6e2e; }
@media (prefers-color-scheme: dark) { :root { --dim: #aaa; --bad: #ff8a80; --good: #7bd88f; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.2rem; margin: 2rem 0 .25rem; } h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p { margin: .25rem 0; } .dim { color: var(--dim); } .good { color: var(--good); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; min-width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; vertical-align: top; }
th { font-weight: normal; color: var(--dim); } .number { text-align: right; }
.trouble { border-left: .25rem solid var(--bad); padding: .25rem 0 .25rem .75rem; margin: .75rem 0; overflow-wrap: anywhere; }
.trouble strong { color: var(--bad); }
meter, progress { width: 100%; max-width: 30rem; height: 1rem; }
`;
