/** Style of the API reference page: light and dark mode, small screens, print, visible focus. */
export const REFERENCE_STYLE = `
:root { color-scheme: light dark; --text: #1c2430; --dim: #56616f; --line: #d9dfe7; --back: #fff; --raised: #f6f8fa; --accent: #0b62c4; --warn: #8a5000; --bad: #b3261e; --good: #1a7f37; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e3e8ef; --dim: #9aa7b8; --line: #303947; --back: #12161c; --raised: #1a2029; --accent: #7ab7ff; --warn: #e0b25a; --bad: #ff9d94; --good: #6fd08c; }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 3.5rem; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 4rem; font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); overflow-wrap: break-word; }
h1 { font-size: 1.6rem; margin: 0; }
h1 small { color: var(--dim); font-weight: 400; font-size: 1rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 0 0 .3rem; }
h4 { font-size: .85rem; color: var(--dim); margin: 1.1rem 0 .3rem; }
a { color: var(--accent); }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .9em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -100rem; }
.skip:focus { position: static; }
nav { position: sticky; top: 0; background: var(--back); border-bottom: 1px solid var(--line); padding: .5rem 0; z-index: 1; }
nav ul { display: flex; gap: .3rem 1rem; margin: 0; padding: 0; list-style: none; overflow-x: auto; white-space: nowrap; }
nav a { display: inline-block; padding: .2rem 0; }
.operation, .component { border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; background: var(--raised); }
.component { padding: .8rem; }
.operation:target, .component:target { border-color: var(--accent); }
summary { cursor: pointer; }
.operation > summary { display: flex; flex-wrap: wrap; gap: .3rem .6rem; align-items: baseline; padding: .6rem .8rem; list-style: none; }
.operation > summary::-webkit-details-marker { display: none; }
.operation > summary::before { content: "+"; width: .8rem; color: var(--dim); font-weight: 600; }
.operation[open] > summary::before { content: "−"; }
.operation .body { padding: .2rem .8rem .8rem; border-top: 1px solid var(--line); }
.method { font: 600 .8rem/1.6 ui-monospace, monospace; min-width: 4.2rem; text-align: center; border-radius: .3rem; color: #fff; background: #4b5a6b; }
.method.get { background: #0b62c4; } .method.post { background: #1a7f37; } .method.patch, .method.put { background: #8a5000; } .method.delete { background: #b3261e; }
.path { font-size: .95rem; overflow-wrap: anywhere; }
.summary { color: var(--dim); flex: 1 1 12rem; }
.auth { font-size: .8rem; border: 1px solid var(--line); border-radius: 1rem; padding: 0 .6rem; }
.fields { list-style: none; margin: .2rem 0; padding: 0; }
.fields .fields { border-left: 2px solid var(--line); padding-left: .8rem; margin-left: .2rem; }
.fields li { padding: .3rem 0; border-top: 1px solid var(--line); }
.fields li:first-child { border-top: 0; }
.name { font-weight: 600; overflow-wrap: anywhere; }
.place, .limits, .about, .type, .id { color: var(--dim); font-size: .9rem; }
.required { color: var(--warn); font-size: .8rem; }
.deprecated { color: var(--bad); font-size: .8rem; }
.pattern { overflow-wrap: anywhere; }
.type, .about p, .id { margin: .2rem 0; }
.type .of { color: var(--text); }
.answers { margin: 0; }
.answers dt { margin-top: .5rem; }
.answers dd { margin: 0 0 0 .2rem; padding-left: .8rem; border-left: 2px solid var(--line); }
.status { font: 600 .9rem ui-monospace, monospace; }
.status.s2 { color: var(--good); } .status.s4 { color: var(--warn); } .status.s5 { color: var(--bad); }
pre { overflow-x: auto; margin: .4rem 0; padding: .7rem; border: 1px solid var(--line); border-radius: .4rem; background: var(--back); }
@media print { nav, .skip { display: none; } .operation { break-inside: avoid; } }
`;
