import { type SqlToken, tokenize } from "../../sql/tokenize.ts";

/** Values of variables, such as `process.env`. */
export type PermissionVariables = Readonly<Record<string, string | undefined>>;

/** Variable without a value, or with a value that is invalid at its place. */
export interface UnusableVariable {
  /** Name of the variable. */
  name: string;
  /** Line, from 1. */
  line: number;
  /** Reason; `undefined` if the variable is not set. */
  why: string | undefined;
}

/** SQL with replaced variables. */
export interface Substituted {
  /** The SQL. */
  sql: string;
  /** Variables that could not be replaced; `sql` must not be used then. */
  unusable: UnusableVariable[];
}

/** The closing brace is optional, so that the search stays linear. */
const VARIABLE = /\$\{([^}]*)(\}?)/g;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Characters that a value must not contain, by place: those that could end a literal or quoted
 * identifier.
 */
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
    why: "a character other than letters, digits and underscore, but is used without quotes",
  },
} as const;

/**
 * Replaces `${NAME}` in SQL. A value cannot leave the literal or identifier that it is put into.
 * Comments are not changed.
 *
 * @param sql The text.
 * @param variables Values of the variables.
 * @returns The text, and all variables that cannot be used. An empty value counts as not set.
 */
export function substituteVariables(sql: string, variables: PermissionVariables): Substituted {
  const unusable: UnusableVariable[] = [];
  let text = "";
  let line = 1;
  const put = (name: string, place: keyof typeof PLACES, at: number): string => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (!NAME.test(name)) unusable.push({ name, line: at, why: "is not a valid variable name" });
    else if (value === undefined || value === "") unusable.push({ name, line: at, why: undefined });
    else if (PLACES[place].refused.test(value)) {
      unusable.push({ name, line: at, why: `holds ${PLACES[place].why}` });
    }
    return value ?? "";
  };
  const tokens = tokenize(sql);
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (token.kind === "string" || token.kind === "quoted") {
      const place = token.kind === "string" ? "literal" : "name";
      text += token.text.replace(
        VARIABLE,
        (all, name: string, end: string, offset: number) =>
          end === "" ? all : put(name, place, line + countLines(token.text.slice(0, offset))),
      );
    } else if (opensVariable(tokens, at)) {
      const end = endOfVariable(tokens, at + 2);
      const inner = tokens.slice(at + 2, end).map((each) => each.text).join("");
      // a name without closing brace is invalid
      const name = tokens[end]?.text === "}" ? inner : `\${${inner.slice(0, 40)}`;
      text += token.text.slice(0, -1) + put(name, "bare", line);
      line += countLines(inner);
      at = end;
    } else text += token.text;
    line += countLines(token.text);
  }
  return { sql: text, unusable };
}

/**
 * Checks for a variable outside of literals and quoted identifiers. The dollar sign may end a word,
 * as in `app_${STAGE}`.
 */
function opensVariable(tokens: readonly SqlToken[], at: number): boolean {
  const { kind, text } = tokens[at];
  return tokens[at + 1]?.text === "{" && text.endsWith("$") && (kind === "word" || text === "$");
}

/** Returns the position of the closing brace, or of the token which shows that there is none. */
function endOfVariable(tokens: readonly SqlToken[], from: number): number {
  let at = from;
  while (at < tokens.length && !["}", "{", ";"].includes(tokens[at].text)) at++;
  return at;
}

function countLines(text: string): number {
  return text.split("\n").length - 1;
}
