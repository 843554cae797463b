import { assert, assertEquals, assertFalse } from "@std/assert";
import * as esbuild from "esbuild";
import { SourceMap } from "node:module";
import { removeNameCalls } from "../../../cli/build/remove_name_calls.ts";

/** Bundles two modules as `trellis build` does; `user.js` is the entry. */
async function bundle(files: { readonly user: string; readonly library: string }) {
  const { outputFiles } = await esbuild.build({
    stdin: { contents: files.user, sourcefile: "user.js", loader: "js" },
    outfile: "/out/index.mjs",
    bundle: true,
    minify: true,
    keepNames: true,
    format: "esm",
    target: "node20",
    charset: "ascii",
    sourcemap: "external",
    write: false,
    logLevel: "silent",
    plugins: [{
      name: "library",
      setup(build): void {
        build.onResolve({ filter: /^library$/ }, () => ({ path: "library.js", namespace: "lib" }));
        build.onLoad({ filter: /.*/, namespace: "lib" }, () => ({ contents: files.library }));
      },
    }],
  });
  const text = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))!.text;
  return { code: text(".mjs"), map: text(".map") };
}

const isLibrary = (source: string) => source === "lib:library.js";

/** Imports code, and returns what it exports as `result`. */
async function run(code: string): Promise<unknown> {
  return (await import(`data:text/javascript,${encodeURIComponent(code)}`)).result;
}

function parseMap(map: string): SourceMap {
  return new SourceMap(JSON.parse(map));
}

Deno.test({
  name: "removeNameCalls() removes the names of functions of some sources only",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const { code, map } = await bundle({
      library: `export function declared() { function nested() {} return nested; }
export const arrow = () => 1, list = [function inList() {}];
export class Shape { static create = () => 2; }
export class ShapeError extends Error { name = this.constructor.name; }
export default function () {}`,
      user: `import fallback, { arrow, declared, list, Shape, ShapeError } from "library";
function own() { function inner() {} return inner; }
const handler = async () => 1;
class Mine {}
const größe = () => 2;
export const result = {
  own: [own.name, own().name, handler.name, Mine.name, größe.name, { key: () => 1 }.key.name],
  classes: [Shape.name, ShapeError.name, new ShapeError("a").name],
  functions: [declared.name, declared().name, arrow.name, list[0].name],
  text: '__name(own,"own"),n(a,"a"); // (()=>1,"b")',
  ran: [declared() !== undefined, arrow(), Shape.create(), typeof fallback],
};`,
    });
    const own = ["own", "inner", "handler", "Mine", "größe", "key"];
    const common = {
      own,
      classes: ["Shape", "ShapeError", "ShapeError"],
      text: '__name(own,"own"),n(a,"a"); // (()=>1,"b")',
      ran: [true, 1, 2, "function"],
    };
    const functions = ["declared", "nested", "arrow", "inList"];
    assertEquals(await run(code), { ...common, functions });

    const unnamed = removeNameCalls(code, map, isLibrary);
    const { functions: names, ...others } = await run(unnamed.code) as Record<string, string[]>;
    assertEquals(others, common as unknown as typeof others);
    for (const [index, name] of functions.entries()) assert(names[index] !== name, name);
    assertEquals(unnamed.removed.get("lib:library.js"), code.length - unnamed.code.length);
    await esbuild.stop();
  },
});

/** Statements of a library beside functions, so that esbuild joins them with the calls. */
const SHAPES: readonly string[] = [
  "function a() {} return a;",
  "function a() {} a(); return 1;",
  "function a() {} if (x) { a(); } return 2;",
  "function a() {} function b() {} { function c() {} c(); } return [a(), b()];",
  "function a() {} return { get: a }.get;",
  "function a() {} ({ key: a }).key(); return [1].map(a);",
  "if (x) { function a() {} a(); return a; } return 3;",
  "for (let i = 0; i < 2; i++) { function a() { return i; } a(); } return 4;",
  "const a = () => x, b = (y) => () => y; return [a(), b(1)()];",
  "const a = function () {}; return x === (() => {}) || a;",
  "const a = x || (() => 5); return typeof a;",
  "const a = x ?? (() => 6); return [x ? () => 1 : () => 2, a].length;",
  "const a = x === undefined ? () => ({}) : async function () {}; return typeof a();",
  "let a; a ||= () => 7; a &&= () => 8; return a();",
  "const { a = () => 9, b = function () { return 10; } } = {}; return [a(), b()];",
  "const a = async () => {}, b = async function* () {}; return [typeof a, typeof b];",
  "switch (x) { case 1: function a() {} a(); break; default: { function b() {} b(); } } return 11;",
  "try { function a() {} a(); } catch { function b() {} b(); } finally { (() => 12)(); } return 13;",
  "class A { #p = () => 14; q = () => this.#p(); static r = () => 15; } return [new A().q(), A.r()];",
  'const a = `${(() => 16)()}`, b = () => `${a}\n,"b")`; return b();',
  "const a = (b = () => 17) => b(); return [a(), ((c) => c())(() => 18)];",
  "const o = { a: () => 19, b() { return 20; }, get c() { return () => 21; } }; return [o.a(), o.c()];",
  "const a = (y) => y, text = 'n(a,\"a\")'; return text + a(x);",
  "var a = function b() { return typeof b; }; return a();",
  "function a() {} class B extends Error {} a(); return new B('x').constructor.name;",
  "return (function a() { return typeof a; })();",
  "return x ? function a() {} : (() => { throw new Error('22'); }).length;",
  "function a(){} return void 0, { b: a, c: [a, () => 23] }.c[1]();",
];

Deno.test({
  name: "removeNameCalls() changes neither results nor positions",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    for (const body of SHAPES) {
      for (const x of ["undefined", "1"]) {
        const library = `export function shape(x) { ${body} }\nexport const next = () => "next";`;
        const user = `import { next, shape } from "library";
const print = (key, value) => typeof value === "function" ? "function" : value;
export const result = JSON.stringify([shape(${x}), next()], print);`;
        const { code, map } = await bundle({ library, user });
        const unnamed = removeNameCalls(code, map, isLibrary);
        assert(unnamed.code.length < code.length, body);
        assertEquals(await run(unnamed.code), await run(code), body);
        assertPositions({ code, map }, unnamed, body);
      }
    }
    await esbuild.stop();
  },
});

interface Mapped {
  readonly code: string;
  readonly map: string;
}

/** Asserts that the characters of the new code are characters of the old one, from the same places. */
function assertPositions(before: Mapped, after: Mapped, message: string): void {
  const [old, now] = [before, after].map(({ map }) => parseMap(map));
  const place = (map: SourceMap, code: string, offset: number) => {
    const lines = code.slice(0, offset).split("\n");
    const found = map.findEntry(lines.length - 1, lines.at(-1)!.length) as SourceMap["payload"];
    const { originalSource, originalLine, originalColumn } = found as unknown as Record<
      string,
      unknown
    >;
    return `${originalSource}:${originalLine}:${originalColumn}`;
  };
  let at = 0;
  for (let offset = 0; offset < after.code.length; offset++, at++) {
    const wanted = `${after.code[offset]} ${place(now, after.code, offset)}`;
    while (
      at < before.code.length && `${before.code[at]} ${place(old, before.code, at)}` !== wanted
    ) {
      at++;
    }
    assert(at < before.code.length, `${message}: ${after.code.slice(offset, offset + 20)}`);
  }
}

Deno.test("removeNameCalls() leaves a call in a place that is not known", () => {
  const name = (mappings: string) =>
    JSON.stringify({ version: 3, sources: ["a.js"], names: ["__name"], mappings });
  const map = name("CAAAA");
  // the call is at column 1
  for (
    const [code, expected] of [
      ['}n(f,"f");g()', "}g()"],
      [';n(f,"f")}', ";}"],
      [',n(f,"f");', ";"],
      ['(n(f,"f"),g())', "(g())"],
      [')n(f,"f");', ')n(f,"f");'],
      [':n(f,"f");', ':n(f,"f");'],
      ['}n(f,"f"),{a:1}.a', '}n(f,"f"),{a:1}.a'],
      ['}n(f,"f"),function(){}()', '}n(f,"f"),function(){}()'],
      ['}n(f,"f").a', '}n(f,"f").a'],
      ['{n(this,"F")}', '{n(this,"F")}'],
      ["}n(f,g);", "}n(f,g);"],
    ]
  ) {
    assertEquals(removeNameCalls(code, map, () => true).code, expected, code);
  }
  const other = JSON.stringify({ version: 3, sources: ["a.js"], names: ["x"], mappings: "CAAAA" });
  assertEquals(removeNameCalls('}n(f,"f");', other, () => true).code, '}n(f,"f");');
  assertFalse(removeNameCalls('}n(f,"f");', map, (_, each) => each !== "f").code === "}");
});
