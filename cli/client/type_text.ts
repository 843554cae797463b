/** A type as text. Its precedence decides where it needs parentheses. */
export interface TypeText {
  readonly text: string;
  readonly kind: "simple" | "union" | "intersection";
}

/** A member of an object type. */
export interface Member {
  readonly name: string;
  readonly type: TypeText;
  readonly isOptional?: boolean;
  readonly isReadonly?: boolean;
  /** What the description says of the member. */
  readonly about?: unknown;
}

/** Creates a type that needs no parentheses. */
export function simple(text: string): TypeText {
  return { text, kind: "simple" };
}

/** The type of no value. */
export const NEVER: TypeText = simple("never");
/** The type of any value. */
export const UNKNOWN: TypeText = simple("unknown");
/** The type `null`. */
export const NULL: TypeText = simple("null");

/** Joins types to a union, without repetitions. */
export function union(types: readonly TypeText[]): TypeText {
  return join(types, "union", " | ");
}

/** Joins types to an intersection, without repetitions. */
export function intersection(types: readonly TypeText[]): TypeText {
  return join(types, "intersection", " & ");
}

function join(
  types: readonly TypeText[],
  kind: "union" | "intersection",
  separator: string,
): TypeText {
  const texts = new Map(types.map((type) => [type.text, type]));
  if (texts.size === 0) return NEVER;
  if (texts.size === 1) return types[0];
  return { text: [...texts.values()].map(enclose).join(separator), kind };
}

/** Creates the type of arrays of a type. */
export function arrayOf(type: TypeText): TypeText {
  return simple(`${enclose(type)}[]`);
}

function enclose({ text, kind }: TypeText): string {
  return kind === "simple" ? text : `(${text})`;
}

/** Creates the type of a value that JSON can carry. */
export function literal(value: unknown): TypeText {
  if (Array.isArray(value)) {
    return value.length === 0 ? simple("never[]") : tuple(value.map(literal));
  }
  if (typeof value !== "object" || value === null) return simple(JSON.stringify(value));
  const entries = Object.entries(value);
  if (entries.length === 0) return simple("Record<string, never>");
  return objectType(entries.map(([name, each]) => ({ name, type: literal(each) })));
}

/** Creates a tuple. */
export function tuple(types: readonly TypeText[], rest?: TypeText): TypeText {
  const texts = types.map(({ text }) => text);
  if (rest !== undefined) texts.push(`...${arrayOf(rest).text}`);
  return simple(`[${texts.map((text) => `\n${text}`).join(",").replaceAll("\n", "\n    ")}\n]`);
}

/** Creates an object type. Lines of members are indented. */
export function objectType(members: readonly Member[]): TypeText {
  return simple(`{\n${members.map(renderMember).join("")}}`);
}

function renderMember({ name, type, isOptional, isReadonly, about }: Member): string {
  const key = /^(?:[A-Za-z_$][\w$]*|0|[1-9]\d{0,14})$/.test(name) ? name : JSON.stringify(name);
  const line = `${isReadonly ? "readonly " : ""}${key}${isOptional ? "?" : ""}: ${type.text};`;
  return `${renderComment(about)}${line}`.split("\n").map((each) => `    ${each}\n`).join("");
}

/** Renders what a description says as a comment in the lines before a member. */
function renderComment(about: unknown): string {
  if (typeof about !== "object" || about === null) return "";
  const { title, summary, format, deprecated, description, examples, type, ...facts } =
    about as Record<string, unknown>;
  const notes = [
    title,
    summary,
    format && `Format: ${format}`,
    deprecated && "@deprecated",
    description && `@description ${description}`,
    "default" in facts && `@default ${toText(facts.default)}`,
    "example" in facts && `@example ${toText(facts.example)}`,
    ...(Array.isArray(examples) ? examples : []).map((each) => `@example ${toText(each)}`),
    "const" in facts && "@constant",
    facts.enum && `@enum {${[type ?? "unknown"].flat().join("|")}}`,
  ].filter(Boolean).map((note) => String(note).trim().replaceAll("*/", "*\\/"));
  if (notes.length === 0) return "";
  if (notes.length === 1 && !notes[0].includes("\n")) return `/** ${notes[0]} */\n`;
  const lines = notes.flatMap((note) =>
    note.split(/\r?\n/).map((line, index) => index === 0 ? line : `    ${line}`)
  );
  return `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join("\n")}\n */\n`;
}

function toText(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
}
