import {
  child,
  children,
  definitions,
  findNodes,
  getText,
  loadPgQuery,
  type PgQuery,
  strings,
  type SyntaxNode,
} from "./syntax_tree.ts";

/** Effect of a statement on its transaction. */
export type StatementKind =
  | "begin"
  | "commit"
  | "rollback"
  | "ddl"
  | "write"
  | "lock"
  | "read"
  | "utility"
  | "wait";

/** Word, literal or symbol of a statement, with its position in bytes. */
export interface SqlToken {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly name: string;
}

/** `AWS IAM GRANT role TO 'arn'` or `AWS IAM REVOKE role FROM 'arn'`. */
export interface IamStatement {
  readonly grants: boolean;
  readonly role: string;
  readonly arn: string;
}

/** Statement as parsed by the server. */
export interface Statement {
  /** SQL that PostgreSQL can run: the provider's own keywords are replaced by spaces. */
  readonly sql: string;
  /**
   * Start of the statement in its text in bytes: positions in the parse tree count from the text's
   * start.
   */
  readonly start: number;
  /** Node type of the parse tree, for example `IndexStmt`; `IamStmt` for the provider's own. */
  readonly type: string;
  readonly node: SyntaxNode;
  readonly kind: StatementKind;
  /** True if ASYNC is present. */
  readonly isAsync: boolean;
  readonly iam?: IamStatement;
  /** Tokens with positions relative to {@link Statement.sql}, without comments. */
  readonly tokens: readonly SqlToken[];
}

/** Error for a text that cannot be parsed. */
export class SqlSyntaxError extends Error {
  /**
   * @param sqlstate 42601, or 0A000 if PostgreSQL's grammar itself rejects a feature.
   */
  constructor(message: string, readonly sqlstate: string, readonly position?: number) {
    super(message);
    this.name = "SqlSyntaxError";
  }
}

/** Function that splits a text into statements; throws {@link SqlSyntaxError}. */
export type StatementParser = (sql: string) => Statement[];

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const ALTER_ACTIONS = [
  "ADD",
  "DROP",
  "ALTER",
  "RENAME",
  "SET",
  "OWNER",
  "ENABLE",
  "DISABLE",
  "VALIDATE",
];

function wordAt(tokens: readonly SqlToken[], index: number): string {
  return tokens[index]?.text.toUpperCase() ?? "";
}

/** Returns the tokens of each statement; a semicolon inside parentheses does not separate. */
function splitTokens(tokens: readonly SqlToken[]): SqlToken[][] {
  const groups: SqlToken[][] = [[]];
  let depth = 0;
  for (const token of tokens) {
    if (token.text === "(") depth++;
    if (token.text === ")") depth--;
    if (token.text === ";" && depth === 0) groups.push([]);
    else groups[groups.length - 1].push(token);
  }
  return groups.filter((group) => group.length > 0);
}

/** Returns the index of the provider's ASYNC among a statement's tokens, or -1. */
function asyncIndex(tokens: readonly SqlToken[]): number {
  if (wordAt(tokens, 0) === "CREATE") {
    const index = wordAt(tokens, 1) === "UNIQUE" ? 2 : 1;
    if (wordAt(tokens, index) === "INDEX" && wordAt(tokens, index + 1) === "ASYNC") {
      return index + 1;
    }
  }
  if (
    wordAt(tokens, 0) === "ALTER" && wordAt(tokens, 1) === "TABLE" && wordAt(tokens, 2) === "ASYNC"
  ) {
    // a table may be named "async"; then an action follows its name
    if (!ALTER_ACTIONS.includes(wordAt(tokens, 3)) && wordAt(tokens, 3) !== ".") return 2;
  }
  return -1;
}

function unquote(token: SqlToken): string {
  const quote = token.text[0];
  if (quote !== '"' && quote !== "'") return token.text.toLowerCase();
  return token.text.slice(1, -1).replaceAll(quote + quote, quote);
}

function readIamStatement(tokens: readonly SqlToken[]): IamStatement | undefined {
  if (wordAt(tokens, 0) !== "AWS" || wordAt(tokens, 1) !== "IAM") return undefined;
  const grants = wordAt(tokens, 2) === "GRANT";
  if (!grants && wordAt(tokens, 2) !== "REVOKE") throw syntaxErrorAt(tokens[2] ?? tokens[1]);
  const [role, preposition, arn, surplus] = tokens.slice(3);
  if (!role || !/^["a-z_]/i.test(role.text)) throw syntaxErrorAt(role ?? tokens[2]);
  if (preposition?.text.toUpperCase() !== (grants ? "TO" : "FROM")) {
    throw syntaxErrorAt(preposition ?? role);
  }
  if (arn?.name !== "SCONST") throw syntaxErrorAt(arn ?? preposition);
  if (surplus) throw syntaxErrorAt(surplus);
  return { grants, role: unquote(role), arn: unquote(arn) };
}

function syntaxErrorAt(token: SqlToken): SqlSyntaxError {
  return new SqlSyntaxError(`syntax error at or near "${token.text}"`, "42601", token.start + 1);
}

function blank(bytes: Uint8Array, start: number, end: number, replacement = ""): void {
  bytes.fill(0x20, start, end);
  bytes.set(encoder.encode(replacement), start);
}

function isWaitForJob(node: SyntaxNode): boolean {
  return strings(children(child(node, "funccall"), "funcname")).join(".") === "sys.wait_for_job";
}

const WRITES = ["InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt"];
const UTILITIES = [
  "VariableSetStmt",
  "VariableShowStmt",
  "DeallocateStmt",
  "VacuumStmt",
  "CallStmt",
];

function queryKind(node: unknown): StatementKind {
  if (WRITES.some((type) => findNodes(node, type).length > 0)) return "write";
  return findNodes(node, "LockingClause").length > 0 ? "lock" : "read";
}

function getKind(type: string, node: SyntaxNode): StatementKind {
  if (type === "TransactionStmt") {
    const kind = getText(node, "kind");
    if (kind === "TRANS_STMT_BEGIN" || kind === "TRANS_STMT_START") return "begin";
    if (kind === "TRANS_STMT_COMMIT") return "commit";
    return kind === "TRANS_STMT_ROLLBACK" ? "rollback" : "utility";
  }
  if (WRITES.includes(type)) return "write";
  if (type === "SelectStmt") return queryKind(node);
  if (type === "ExplainStmt") {
    return definitions(children(node, "options")).has("analyze") ? queryKind(node) : "read";
  }
  if (type === "CopyStmt") return node.is_from ? "write" : "read";
  if (type === "CallStmt" && isWaitForJob(node)) return "wait";
  return UTILITIES.includes(type) ? "utility" : "ddl";
}

function toSyntaxError(error: unknown): SqlSyntaxError {
  const message = error instanceof Error ? error.message : String(error);
  const details = (error as { sqlDetails?: { cursorPosition?: number } }).sqlDetails;
  // PostgreSQL's grammar rejects some features itself, as not supported
  const sqlstate = /cannot be marked|not yet implemented|is not supported/.test(message)
    ? "0A000"
    : "42601";
  return new SqlSyntaxError(
    message,
    sqlstate,
    details?.cursorPosition === undefined ? undefined : details.cursorPosition + 1,
  );
}

function parseNodes(pgQuery: PgQuery, sql: string): readonly SyntaxNode[] {
  try {
    return pgQuery.parse(sql);
  } catch (error) {
    throw toSyntaxError(error);
  }
}

function scanTokens(pgQuery: PgQuery, sql: string): SqlToken[] {
  let scanned: ReturnType<PgQuery["scan"]>;
  try {
    scanned = pgQuery.scan(sql);
  } catch (error) {
    // the scanner does not report what is wrong with a text, the parser does
    parseNodes(pgQuery, sql);
    throw toSyntaxError(error);
  }
  return scanned
    .filter((token) => token.tokenName !== "SQL_COMMENT" && token.tokenName !== "C_COMMENT")
    .map(({ start, end, text, tokenName }) => ({ start, end, text, name: tokenName }));
}

function parseStatements(pgQuery: PgQuery, sql: string): Statement[] {
  const bytes = encoder.encode(sql);
  const iamByStart: { start: number; iam: IamStatement }[] = [];
  const asyncStarts: number[] = [];
  const tokens = scanTokens(pgQuery, sql);
  for (const group of splitTokens(tokens)) {
    const iam = readIamStatement(group);
    if (iam) {
      iamByStart.push({ start: group[0].start, iam });
      blank(bytes, group[0].start, group[group.length - 1].end, "SELECT");
    }
    const index = asyncIndex(group);
    if (index >= 0) {
      asyncStarts.push(group[index].start);
      blank(bytes, group[index].start, group[index].end);
    }
  }
  return parseNodes(pgQuery, decoder.decode(bytes)).map((raw) => {
    const start = Number(raw.stmt_location ?? 0);
    const end = raw.stmt_len ? start + Number(raw.stmt_len) : bytes.length;
    const within = (place: number): boolean => place >= start && place < end;
    const [type, node] = Object.entries(child(raw, "stmt"))[0] as [string, SyntaxNode];
    const iam = iamByStart.find((entry) => within(entry.start))?.iam;
    return {
      sql: decoder.decode(bytes.subarray(start, end)),
      start,
      type: iam ? "IamStmt" : type,
      node: iam ? {} : node,
      kind: iam ? "ddl" : getKind(type, node),
      isAsync: asyncStarts.some(within),
      iam,
      tokens: tokens.filter((token) => within(token.start)).map((token) => ({
        ...token,
        start: token.start - start,
        end: token.end - start,
      })),
    };
  });
}

/**
 * Loads PostgreSQL's own parser (libpg-query).
 *
 * Syntax that the parser does not know is recognized before it runs: `CREATE INDEX ASYNC`, `ALTER
 * TABLE ASYNC` and `AWS IAM GRANT`/`REVOKE`. Their keywords are replaced by spaces, so that
 * positions stay the same.
 *
 * @returns A synchronous parser.
 */
export async function loadStatementParser(): Promise<StatementParser> {
  const pgQuery = await loadPgQuery("startDistSqlServer()");
  return (sql) => parseStatements(pgQuery, sql);
}

/** Returns the first argument of a CALL; a subquery is left to the database, which rejects it. */
export function callArgument(statement: Statement): SyntaxNode {
  const argument = children(child(statement.node, "funccall"), "args")[0] ?? {};
  return argument.SubLink ? {} : argument;
}

/** Returns the first argument of a CALL if it is a constant. */
export function readConstantArgument(statement: Statement): string | undefined {
  const constant = findNodes(callArgument(statement), "A_Const")[0];
  return constant && getText(child(constant, "sval"), "sval");
}
