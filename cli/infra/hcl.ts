/**
 * A Terraform expression, such as `module.core.region`. It is a class, so that a string of a user
 * is never treated as an expression.
 */
export class Expression {
  /** The expression. */
  readonly hcl: string;

  /** Creates an expression. */
  constructor(hcl: string) {
    this.hcl = hcl;
  }
}

/** A Terraform value. */
export type HclValue =
  | string
  | number
  | boolean
  | null
  | Expression
  | readonly HclValue[]
  | { readonly [key: string]: HclValue | undefined };

/** Arguments by name; `undefined` values are omitted. */
export type HclArguments = Readonly<Record<string, HclValue | undefined>>;

/** A part of a block's body: consecutive arguments, a nested block or a comment. */
export type HclPart = HclArguments | HclBlock | HclComment;

/** A block: `resource "aws_sqs_queue" "mail" { … }`. */
export class HclBlock {
  constructor(
    readonly type: string,
    readonly labels: readonly string[],
    readonly body: readonly HclPart[],
  ) {}
}

class HclComment {
  constructor(readonly text: string) {}
}

/**
 * Creates an expression, which is rendered without quotes.
 *
 * @param hcl The expression.
 */
export function expression(hcl: string): Expression {
  return new Expression(hcl);
}

/** Creates the JSON of a value: `jsonencode({ … })`. */
export function jsonencode(value: HclValue): Expression {
  return new Expression(`jsonencode(${renderValue(value, "")})`);
}

/** Creates an IAM policy. */
export function renderPolicy(
  ...statements: readonly { readonly [key: string]: HclValue | undefined }[]
): Expression {
  return jsonencode({ Version: "2012-10-17", Statement: statements });
}

/**
 * Creates a block.
 *
 * @param type `resource`
 * @param labels `["aws_sqs_queue", "mail"]`
 */
export function block(
  type: string,
  labels: readonly string[],
  ...body: readonly HclPart[]
): HclBlock {
  return new HclBlock(type, labels, body);
}

/** Creates a resource: `resource "aws_sqs_queue" "mail" { … }`. */
export function resource(type: string, name: string, ...body: readonly HclPart[]): HclBlock {
  return block("resource", [type, name], ...body);
}

/** Creates an output. */
export function output(name: string, description: string, value: HclValue): HclBlock {
  return block("output", [name], { description, value });
}

/**
 * Creates a comment for the following part.
 *
 * @param text One line.
 */
export function comment(text: string): HclPart {
  return new HclComment(text);
}

/** Quotes a string for Terraform and escapes `${` and `%{`. */
export function quote(text: string): string {
  const escaped = text
    .replace(/[\\"]/g, "\\$&")
    .replace(/\n/g, "\\n")
    .replace(/\r/g, "\\r")
    .replace(/\t/g, "\\t")
    .replace(
      // deno-lint-ignore no-control-regex
      /[\u0000-\u001f\u007f]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
    )
    .replace(/[$%](?=\{)/g, "$&$&");
  return `"${escaped}"`;
}

/**
 * Renders a file in the format of `terraform fmt`.
 *
 * @param parts Comments, and the blocks after them.
 */
export function renderFile(parts: readonly (HclBlock | string)[]): string {
  const remarks = parts.filter((part) => typeof part === "string").map((text) =>
    `# ${oneLine(text)}\n`
  );
  const blocks = parts.filter((part) => typeof part !== "string").map((part) =>
    renderBlock(part, "")
  );
  return [remarks.join(""), ...blocks].join("\n");
}

function renderBlock({ type, labels, body }: HclBlock, indent: string): string {
  const head = [type, ...labels.map(quote)].join(" ");
  const inner = `${indent}  `;
  const groups: string[] = [];
  let remarks = "";
  for (const part of body) {
    if (part instanceof HclComment) {
      remarks += `${inner}# ${oneLine(part.text)}\n`;
      continue;
    }
    const rendered = part instanceof HclBlock
      ? [renderBlock(part, inner)]
      : renderArguments(part, inner);
    if (rendered.length === 0) continue;
    groups.push(remarks + rendered[0], ...rendered.slice(1));
    remarks = "";
  }
  if (groups.length === 0) return `${indent}${head} {}\n`;
  return `${indent}${head} {\n${groups.join("\n")}${indent}}\n`;
}

/**
 * Groups arguments: consecutive single-line arguments together, each multi-line argument
 * separately.
 */
function renderArguments(values: HclArguments, indent: string): string[] {
  const groups: string[] = [];
  let short: [string, string][] = [];
  function flush(): void {
    if (short.length > 0) groups.push(alignLines(short, indent));
    short = [];
  }
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    const text = renderValue(value, indent);
    if (!text.includes("\n")) {
      short.push([renderKey(name), text]);
      continue;
    }
    flush();
    groups.push(`${indent}${renderKey(name)} = ${text}\n`);
  }
  flush();
  return groups;
}

function alignLines(
  lines: readonly (readonly [name: string, text: string])[],
  indent: string,
): string {
  const width = Math.max(...lines.map(([name]) => [...name].length));
  return lines.map(([name, text]) =>
    `${indent}${name}${" ".repeat(width - [...name].length)} = ${text}\n`
  ).join("");
}

function renderValue(value: HclValue, indent: string): string {
  if (value === null || typeof value === "boolean" || typeof value === "number") {
    return String(value);
  }
  if (typeof value === "string") return quote(value);
  if (value instanceof Expression) return value.hcl.replaceAll("\n", `\n${indent}`);
  const inner = `${indent}  `;
  if (isList(value)) {
    const items = value.map((item) => renderValue(item, inner));
    const line = `[${items.join(", ")}]`;
    const fits = line.length + indent.length < 100 && !line.includes("\n");
    return fits ? line : `[\n${items.map((item) => `${inner}${item},\n`).join("")}${indent}]`;
  }
  const groups = renderArguments(value, inner);
  return groups.length === 0 ? "{}" : `{\n${groups.join("")}${indent}}`;
}

function renderKey(key: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(key) && !/^(?:true|false|null|for)$/.test(key)
    ? key
    : quote(key);
}

function isList(value: HclValue): value is readonly HclValue[] {
  return Array.isArray(value);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
