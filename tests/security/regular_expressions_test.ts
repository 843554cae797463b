import { assertEquals, assertGreater } from "@std/assert";
import { checkSync } from "recheck";
import ts from "typescript";

const ROOT = new URL("../../", import.meta.url);
const FOLDERS = [
  "errors",
  "env",
  "observability",
  "core",
  "validation",
  "database",
  "idempotency",
  "jobs",
  "workflows",
  "mail",
  "uploads",
  "realtime",
  "router",
  "streaming",
  "auth",
  "client",
  "testing",
  "cli",
];

const IS_FULL = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
/**
 * Expressions that take recheck the longest, found safe. The verdict of an automaton depends only on
 * the text, so that they are judged again when their text changes, and all of them in a full run.
 */
const JUDGED = Deno.readTextFileSync(new URL("judged_expressions.txt", import.meta.url))
  .split("\n").filter((line) => line !== "");

interface Found {
  readonly place: string;
  readonly source: string;
  readonly flags: string;
}

/** Regular expressions of our own sources: literals, and constant texts given to `RegExp`. */
function findExpressions(): Found[] {
  const found: Found[] = [];
  for (const file of FOLDERS.flatMap((folder) => sourceFiles(new URL(`${folder}/`, ROOT)))) {
    const source = ts.createSourceFile(
      file.pathname,
      Deno.readTextFileSync(file),
      ts.ScriptTarget.Latest,
      true,
    );
    const visit = (node: ts.Node): void => {
      const text = getText(node);
      if (text !== undefined) {
        const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
        found.push({ place: `${file.pathname.slice(ROOT.pathname.length)}:${line}`, ...text });
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return found;
}

function getText(node: ts.Node): { source: string; flags: string } | undefined {
  if (ts.isRegularExpressionLiteral(node)) {
    const end = node.text.lastIndexOf("/");
    return { source: node.text.slice(1, end), flags: node.text.slice(end + 1) };
  }
  if (!ts.isNewExpression(node) && !ts.isCallExpression(node)) return undefined;
  if (node.expression.getText() !== "RegExp") return undefined;
  const [pattern, flags] = node.arguments ?? [];
  if (pattern === undefined || !ts.isStringLiteralLike(pattern)) return undefined;
  return {
    source: pattern.text,
    flags: flags !== undefined && ts.isStringLiteralLike(flags) ? flags.text : "",
  };
}

function sourceFiles(folder: URL): URL[] {
  return [...Deno.readDirSync(folder)].flatMap((entry) =>
    entry.isDirectory
      ? sourceFiles(new URL(`${entry.name}/`, folder))
      : entry.name.endsWith(".ts")
      ? [new URL(entry.name, folder)]
      : []
  );
}

/**
 * Judges by automata, whose verdict does not depend on time; by attempts what automata cannot express, and
 * in the short form also what takes them long: a full run gives them more time.
 */
function judge({ source, flags }: Pick<Found, "source" | "flags">) {
  // recheck reads ECMAScript 2022: v and d do not change what a pattern costs
  const known = flags.replace(/[vd]/g, "");
  const timeout = IS_FULL ? 120_000 : 10_000;
  const verdict = checkSync(source, known, { checker: "automaton", timeout });
  return verdict.status === "unknown" ? checkSync(source, known, { timeout: 20_000 }) : verdict;
}

Deno.test("the checker distinguishes expressions with and without backtracking", () => {
  assertEquals(judge({ source: "^(?:[a-z]+-?)+$", flags: "" }).status, "vulnerable");
  assertEquals(judge({ source: "^[a-z]+(?:-[a-z]+)*$", flags: "" }).status, "safe");
});

Deno.test("every regular expression of the library runs in linear time", () => {
  const expressions = findExpressions();
  assertGreater(expressions.length, 100);
  const seen = new Map(expressions.map((each) => [`/${each.source}/${each.flags}`, each]));
  const gone = JUDGED.filter((text) => !seen.has(text));
  if (IS_FULL) assertEquals(gone, [], "judged_expressions.txt: remove them");
  else for (const text of JUDGED) seen.delete(text);
  const faults = [...seen].flatMap(([text, each]) => {
    const verdict = judge(each);
    const cost = verdict.status === "vulnerable" ? verdict.complexity.summary : "";
    return verdict.status === "safe" ? [] : [`${each.place} ${text} ${verdict.status} ${cost}`];
  });
  // deno-lint-ignore no-console -- the number of cases is part of the result
  console.info(`${seen.size} regular expressions`);
  assertEquals(faults, []);
});
