/** Style of the API reference page: light and dark, readable on a phone, visible focus. */
export const REFERENCE_STYLE = `
:root { color-scheme: light dark; --text: #1c2430; --dim: #5b6675; --line: #d9dfe7; --back: #fff; --raised: #f6f8fa; --accent: #0b62c4; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e3e8ef; --dim: #9aa7b8; --line: #303947; --back: #12161c; --raised: #1a2029; --accent: #7ab7ff; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 56rem; padding: 1.5rem 1rem 4rem; font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); }
h1 { font-size: 1.6rem; margin: 0; }
h1 small { color: var(--dim); font-weight: 400; font-size: 1rem; }
h3 { font-size: .85rem; text-transform: uppercase; letter-spacing: .04em; color: var(--dim); margin: 1rem 0 .4rem; }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.operation { border: 1px solid var(--line); border-radius: .5rem; margin: .6rem 0; background: var(--raised); }
summary { cursor: pointer; }
.operation > summary { display: flex; flex-wrap: wrap; gap: .6rem; align-items: baseline; padding: .6rem .8rem; }
.operation .body { padding: 0 .8rem .8rem; border-top: 1px solid var(--line); }
.method { font: 600 .8rem/1.6 ui-monospace, monospace; min-width: 4.2rem; text-align: center; border-radius: .3rem; color: #fff; background: #4b5a6b; }
.method.get { background: #0b62c4; } .method.post { background: #1a7f37; } .method.patch, .method.put { background: #9a5b00; } .method.delete { background: #b3261e; }
.path { font-size: .95rem; overflow-wrap: anywhere; }
.summary { color: var(--dim); flex: 1 1 12rem; }
.auth { font-size: .8rem; border: 1px solid var(--line); border-radius: 1rem; padding: 0 .6rem; }
.status { font: 600 .85rem ui-monospace, monospace; }
.status.s2 { color: #1a7f37; } .status.s4 { color: #9a5b00; } .status.s5 { color: #b3261e; }
@media (prefers-color-scheme: dark) { .status.s2 { color: #6fd08c; } .status.s4 { color: #e0b25a; } .status.s5 { color: #ff9d94; } }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .5rem; border-bottom: 1px solid var(--line); vertical-align: top; }
pre { overflow-x: auto; margin: .4rem 0; padding: .7rem; font-size: .85rem; border: 1px solid var(--line); border-radius: .4rem; background: var(--back); }
`;
