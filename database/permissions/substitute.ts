import { type SqlToken, tokenize } from "../distsql/tokenize.ts";

/** Where variables take their values from, such as `process.env`. */
export type PermissionVariables = Readonly<Record<string, string | undefined>>;

/** A variable that has no value, or one that does not fit its place. */
export interface UnusableVariable {
  /** Its name. */
  name: string;
  /** The line that it stands in, from 1. */
  line: number;
  /** What is wrong; `undefined` when it is not set. */
  why: string | undefined;
}

/** SQL with its variables replaced. */
export interface Substituted {
  /** The SQL. */
  sql: string;
  /** What was found wrong; the SQL is of no use then. */
  unusable: UnusableVariable[];
}

/** Its end may be missing, so that no place is looked through twice. */
const VARIABLE = /\$\{([^}]*)(\}?)/g;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** What a value must not have, by the place that it is put in: nothing that ends a literal or a quoted name. */
const PLACES = {
  literal: {
    refused: /['\\$\p{Cc}]/u,
    why: "a quote, a backslash, a dollar sign or a control character",
  },
  name: {
    refused: /["\\$\p{Cc}]/u,
    why: "a double quote, a backslash, a dollar sign or a control character",
  },
  bare: {
    refused: /[^A-Za-z0-9_]/,
    why: "what is no letter, digit or underscore, and it stands without quotes",
  },
} as const;

/**
 * Replaces `${NAME}` in SQL. A value stays inside of the literal or the name that it is put into; comments stay as they are.
 *
 * @param sql The text.
 * @param variables Where the values are.
 * @returns The text, and all unusable at once. A variable that is set to nothing counts as not set.
 */
export function substituteVariables(sql: string, variables: PermissionVariables): Substituted {
  const unusable: UnusableVariable[] = [];
  let text = "";
  let line = 1;
  const put = (name: string, place: keyof typeof PLACES, at: number): string => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (!NAME.test(name)) unusable.push({ name, line: at, why: "is no name of a variable" });
    else if (value === undefined || value === "") unusable.push({ name, line: at, why: undefined });
    else if (PLACES[place].refused.test(value)) {
      unusable.push({ name, line: at, why: `holds ${PLACES[place].why}` });
    }
    return value ?? "";
  };
  const tokens = tokenize(sql);
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    const place = token.kind === "string"
      ? "literal"
      : token.kind === "quoted"
      ? "name"
      : undefined;
    if (place !== undefined) {
      text += token.text.replace(
        VARIABLE,
        (all, name: string, end: string, offset: number) =>
          end === "" ? all : put(name, place, line + countLines(token.text.slice(0, offset))),
      );
    } else if (opensVariable(tokens, at)) {
      const end = endOfVariable(tokens, at + 2);
      const inner = tokens.slice(at + 2, end).map((each) => each.text).join("");
      // a name that is not closed is no name
      const name = tokens[end]?.text === "}" ? inner : `\${${inner.slice(0, 40)}`;
      text += token.text.slice(0, -1) + put(name, "bare", line);
      line += countLines(inner);
      at = end;
    } else text += token.text;
    line += countLines(token.text);
  }
  return { sql: text, unusable };
}

/** Outside of literals and names; the dollar sign may be the end of a word, as in `app_${STAGE}`. */
function opensVariable(tokens: readonly SqlToken[], at: number): boolean {
  const { kind, text } = tokens[at];
  return tokens[at + 1]?.text === "{" && text.endsWith("$") && (kind === "word" || text === "$");
}

/** The place of the closing brace, or of what shows that there is none. */
function endOfVariable(tokens: readonly SqlToken[], from: number): number {
  let at = from;
  while (at < tokens.length && !["}", "{", ";"].includes(tokens[at].text)) at++;
  return at;
}

function countLines(text: string): number {
  return text.split("\n").length - 1;
}
