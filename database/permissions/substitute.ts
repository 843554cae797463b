import { type SqlToken, tokenize } from "../distsql/tokenize.ts";

/** Where variables take their values from, such as `process.env`. */
export type PermissionVariables = Readonly<Record<string, string | undefined>>;

/** A variable that has no value, or one that does not fit its place. */
export interface VariableFault {
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
  faults: VariableFault[];
}

/** Its end may be missing, so that no place is looked through twice. */
const VARIABLE = /\$\{([^}]*)(\}?)/g;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** What a value must not have, by the place that it is put in: nothing that ends a literal or a quoted name. */
const PLACES = {
  literal: { refused: /['\\$\p{Cc}]/u, why: "a quote, a backslash, a dollar sign or a control character" },
  name: {
    refused: /["\\$\p{Cc}]/u,
    why: "a double quote, a backslash, a dollar sign or a control character",
  },
  bare: { refused: /[^A-Za-z0-9_]/, why: "what is no letter, digit or underscore, and it stands without quotes" },
} as const;

/**
 * Replaces `${NAME}` in SQL. A value stays inside of the literal or the name that it is put into; comments stay as they are.
 *
 * @param sql The text.
 * @param variables Where the values are.
 * @returns The text, and all faults at once. A variable that is set to nothing counts as not set.
 */
export function substituteVariables(sql: string, variables: PermissionVariables): Substituted {
  const faults: VariableFault[] = [];
  let text = "";
  let line = 1;
  const put = (name: string, place: keyof typeof PLACES, at: number): string => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (!NAME.test(name)) faults.push({ name, line: at, why: "is no name of a variable" });
    else if (value === undefined || value === "") faults.push({ name, line: at, why: undefined });
    else if (PLACES[place].refused.test(value)) faults.push({ name, line: at, why: `holds ${PLACES[place].why}` });
    return value ?? "";
  };
  const tokens = tokenize(sql);
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    const place = token.kind === "string" ? "literal" : token.kind === "quoted" ? "name" : undefined;
    if (place !== undefined) {
      text += token.text.replace(
        VARIABLE,
        (all, name: string, end: string, offset: number) =>
          end === "" ? all : put(name, place, line + countLines(token.text.slice(0, offset))),
      );
    } else if (isBareVariable(tokens, at)) {
      text += put(tokens[at + 2].text, "bare", line);
      at += 3;
    } else text += token.text;
    line += countLines(token.text);
  }
  return { sql: text, faults };
}

function isBareVariable(tokens: readonly SqlToken[], at: number): boolean {
  return tokens[at].text === "$" && tokens[at + 1]?.text === "{" && tokens[at + 2]?.kind === "word" &&
    tokens[at + 3]?.text === "}";
}

function countLines(text: string): number {
  return text.split("\n").length - 1;
}
