import { join } from "node:path";

/** A code block of a page or of a doc comment. */
export interface DocExample {
  /** Path of the file from the root of the checkout. */
  readonly file: string;
  /** Line of the opening fence, from 1. */
  readonly line: number;
  readonly code: string;
}

const LANGUAGES = ["ts", "typescript", "tsx", "js", "javascript", "jsx"];
const FENCE = "```";

/**
 * Lists the examples of Markdown pages and of doc comments. It finds the blocks that
 * `deno test --doc` finds: those in TypeScript or JavaScript that are not marked `ignore`.
 *
 * @param root Folder of the checkout.
 * @param paths Files and folders below it.
 */
export function listDocExamples(root: string, paths: readonly string[]): DocExample[] {
  return paths.flatMap((path) => listSources(root, path)).flatMap((file) =>
    parseExamples(Deno.readTextFileSync(join(root, file)), file)
  );
}

function listSources(root: string, path: string): string[] {
  if (Deno.statSync(join(root, path)).isFile) {
    return path.endsWith(".md") || path.endsWith(".ts") ? [path] : [];
  }
  return [...Deno.readDirSync(join(root, path))].map(({ name }) => `${path}/${name}`).sort()
    .filter((each) => each !== "docs/api" && each !== "docs/site")
    .flatMap((each) => listSources(root, each));
}

/**
 * Returns the examples of a page or of a source's doc comments.
 *
 * @param text The file's text.
 * @param file Its path. A name that ends with `.md` means a page.
 */
export function parseExamples(text: string, file: string): DocExample[] {
  const examples: DocExample[] = [];
  const lines = file.endsWith(".md") ? text.split("\n") : keepDocComments(text);
  let opened: { line: number; isExample: boolean } | undefined;
  let code: string[] = [];
  lines.forEach((line, at) => {
    if (!line.startsWith(FENCE)) {
      code.push(line);
    } else if (opened === undefined) {
      opened = { line: at + 1, isExample: isExample(line.slice(FENCE.length)) };
      code = [];
    } else {
      if (opened.isExample) examples.push({ file, line: opened.line, code: code.join("\n") });
      opened = undefined;
    }
  });
  return examples;
}

/** Returns a source's lines: those of doc comments without their stars, all others empty. */
function keepDocComments(text: string): string[] {
  let isInside = false;
  return text.split("\n").map((line) => {
    const trimmed = line.trimStart();
    if (!isInside) {
      isInside = trimmed.startsWith("/**") && !trimmed.includes("*/");
      return "";
    }
    isInside = !trimmed.includes("*/");
    if (!isInside) return "";
    return trimmed.startsWith("* ") ? trimmed.slice(2) : trimmed.replace("*", "");
  });
}

function isExample(info: string): boolean {
  const [language, ...attributes] = info.trim().split(" ");
  return LANGUAGES.includes(language) && !attributes.includes("ignore");
}

/**
 * Converts an example to a module whose function `run` runs it, as `deno test --doc` does. Code at the top
 * level of a module would not run in the asynchronous context of its test.
 *
 * @param example The example. Files that import themselves by a relative path can do so.
 * @param root URL of the checkout, with a slash at its end.
 */
export function toModule({ file, code }: DocExample, root: string): string {
  const imports: string[] = [];
  const body: string[] = [];
  let isImport = false;
  for (const line of code.split("\n")) {
    isImport ||= line.startsWith("import ");
    if (isImport) imports.push(line.replace(' from "./', ` from "${new URL(".", root + file)}`));
    else body.push(toStatement(line));
    if (line.endsWith(";")) isImport = false;
  }
  return [
    ...imports.filter((line) => line !== TEST_IMPORT),
    ...imports.includes(TEST_IMPORT) ? [TEST_FUNCTION] : [],
    "export async function run(): Promise<void> {",
    ...body,
    "}",
    "",
  ].join("\n");
}

/** A test of an example runs as a part of the test that runs the example. */
const TEST_IMPORT = 'import { test } from "node:test";';
const TEST_FUNCTION = "const test = (_name: string, run: () => Promise<void>) => run();";

function toStatement(line: string): string {
  return line.replace("export default ", "void ").replace(/^export /, "")
    .replace(/^test\(/, "await test(");
}
