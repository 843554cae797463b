/**
 * What the real PostgreSQL parser says about a statement, and what of it the distributed-SQL provider would refuse.
 * It reads the parse tree and shares no code with the translation.
 */
import { loadModule, parseSync, scanSync } from "libpg-query";

await loadModule();

type Node = Record<string, unknown>;

/** The statements of a text as PostgreSQL's parser has them. */
export function parse(sql: string): Node[] {
  return (parseSync(sql) as { stmts?: { stmt: Node }[] }).stmts?.map(({ stmt }) => stmt) ?? [];
}

/** The texts of PostgreSQL's own scanner, operators left out. */
export function scan(sql: string): string[] {
  const { tokens } = scanSync(sql) as { tokens: { text: string; tokenName: string }[] };
  return tokens.map((token) => token.text);
}

/** The statement without the provider's ASYNC, which PostgreSQL's parser does not know. */
export function withoutAsync(sql: string): string {
  const { tokens } = scanSync(sql) as {
    tokens: { text: string; tokenName: string; start: number; end: number }[];
  };
  const words = tokens.filter((token) => !token.tokenName.endsWith("COMMENT"));
  const keys = words.map((token) => token.text.toLowerCase());
  const at = /^create (?:unique )?index async /.test(`${keys.slice(0, 5).join(" ")} `)
    ? keys.indexOf("async")
    : /^alter table async (?!add |drop |alter |rename )/.test(`${keys.slice(0, 4).join(" ")} `)
    ? 2
    : -1;
  if (at < 0) return sql;
  const bytes = new TextEncoder().encode(sql); // the scanner counts bytes
  const text = (from: number, to?: number): string =>
    new TextDecoder().decode(bytes.slice(from, to));
  return text(0, words[at].start) + text(words[at].end);
}

function isAsync(sql: string): boolean {
  return withoutAsync(sql) !== sql;
}

const STORABLE = new Set(
  ("int2 int4 int8 float4 float8 numeric bpchar varchar text date time timetz timestamp timestamptz interval bool bytea " +
    "uuid json jsonb").split(" "),
);

function refusedType(type: Node): string[] {
  const names = (type.names as { String: { sval: string } }[]).map((name) => name.String.sval);
  if (type.arrayBounds) return ["array"];
  return STORABLE.has(names.at(-1)!) ? [] : [`type ${names.join(".")}`];
}

function refusedCache(options: { DefElem: Node }[] | undefined): string[] {
  const cache = options?.find((option) => option.DefElem.defname === "cache")?.DefElem.arg as
    | { Integer?: { ival: number }; Float?: { fval: string } }
    | undefined;
  const value = Number(cache?.Integer?.ival ?? cache?.Float?.fval ?? 0);
  return value === 1 || value >= 65536 ? [] : ["cache"];
}

function refusedConstraint(constraint: Node): string[] {
  const refused: string[] = [];
  const type = constraint.contype as string;
  if (type === "CONSTR_EXCLUSION") refused.push("exclude");
  if (constraint.deferrable && type !== "CONSTR_FOREIGN") refused.push("deferrable");
  if (type.startsWith("CONSTR_ATTR_")) refused.push(type);
  if (constraint.options && type !== "CONSTR_IDENTITY") refused.push("with");
  if (constraint.indexspace) refused.push("tablespace");
  if (type === "CONSTR_IDENTITY") {
    refused.push(...refusedCache(constraint.options as { DefElem: Node }[]));
  }
  return refused;
}

function getConstraints(column: Node): Node[] {
  return ((column.constraints ?? []) as { Constraint: Node }[]).map((node) => node.Constraint);
}

function refusedColumn(column: Node, isAdded: boolean): string[] {
  const refused = refusedType(column.typeName as Node);
  const constraints = getConstraints(column);
  if (column.collClause) refused.push("collate");
  if (column.compression) refused.push("compression");
  if (isAdded && constraints.length > 0) refused.push("add column with constraint");
  const names = (column.typeName as { names: { String: { sval: string } }[] }).names.map((name) =>
    name.String.sval
  );
  let previous = "";
  for (const constraint of constraints) {
    const type = constraint.contype as string;
    const belongsToForeignKey = type.startsWith("CONSTR_ATTR_") && previous === "CONSTR_FOREIGN";
    if (type === "CONSTR_IDENTITY" && names.at(-1) !== "int8") refused.push("identity type");
    if (!belongsToForeignKey) refused.push(...refusedConstraint(constraint));
    if (!type.startsWith("CONSTR_ATTR_")) previous = type;
  }
  return refused;
}

/** The words before the first parenthesis, without comments, in lower case. */
function getHead(sql: string): string[] {
  const texts = scan(sql).filter((text) => !/^(?:--|\/\*)/.test(text)).map((text) =>
    text.toLowerCase()
  );
  return texts.slice(0, texts.indexOf("("));
}

function refusedIndex(index: Node, sql: string): string[] {
  const refused: string[] = isAsync(sql) ? [] : ["sync index"];
  if (index.concurrent) refused.push("concurrently");
  if (index.accessMethod !== undefined && index.accessMethod !== "btree") refused.push("using");
  if (getHead(sql).includes("using")) refused.push("using");
  if (index.options || index.tableSpace) refused.push("storage");
  for (const { IndexElem } of index.indexParams as { IndexElem: Node }[]) {
    if (IndexElem.ordering !== "SORTBY_DEFAULT") refused.push("sort order");
    if (IndexElem.opclass || IndexElem.opclassopts) refused.push("opclass");
    if (IndexElem.collation) refused.push("collate");
  }
  return refused;
}

const ALLOWED_ALTER = new Set([
  ...[
    "AT_AddColumn",
    "AT_DropColumn",
    "AT_ColumnDefault",
    "AT_DropNotNull",
    "AT_AddConstraint",
    "AT_DropConstraint",
  ],
  ...[
    "AT_ValidateConstraint",
    "AT_ChangeOwner",
    "AT_SetStorage",
    "AT_AlterConstraint",
    "AT_AddIdentity",
    "AT_SetIdentity",
  ],
  ...[
    "AT_DropIdentity",
    "AT_DropExpression",
    "AT_EnableTrigAll",
    "AT_DisableTrigAll",
    "AT_EnableTrigUser",
  ],
  ...["AT_DisableTrigUser"],
]);

function refusedAlter(alter: Node, sql: string): string[] {
  return (alter.cmds as { AlterTableCmd: Node }[]).flatMap(({ AlterTableCmd: command }) => {
    const subtype = command.subtype as string;
    if (!ALLOWED_ALTER.has(subtype)) return [subtype];
    if (subtype === "AT_ValidateConstraint") return isAsync(sql) ? [] : ["sync validate"];
    if (subtype === "AT_AddColumn") {
      return refusedColumn((command.def as { ColumnDef: Node }).ColumnDef, true);
    }
    if (subtype !== "AT_AddConstraint") return [];
    const constraint = (command.def as { Constraint: Node }).Constraint;
    const refused = refusedConstraint(constraint);
    const isAllowed = constraint.contype === "CONSTR_UNIQUE"
      ? constraint.indexname
      : constraint.skip_validation;
    if (!isAllowed) refused.push(`add ${constraint.contype}`);
    return refused;
  });
}

/** What the provider would refuse of one statement in its own form; empty when nothing. */
export function refused(sql: string): string[] {
  if (/^\s*aws\s+iam\s/i.test(sql)) return [];
  const statements = parse(withoutAsync(sql));
  if (statements.length !== 1) return [`${statements.length} statements`];
  const [[kind, node]] = Object.entries(statements[0]) as [string, Node][];
  switch (kind) {
    case "IndexStmt":
      return refusedIndex(node, sql);
    case "AlterTableStmt":
      return refusedAlter(node, sql);
    case "CreateSeqStmt":
      return refusedCache(node.options as { DefElem: Node }[]);
    case "CreateStmt": {
      const found: string[] = [];
      if ((node.relation as Node).relpersistence !== "p") found.push("persistence");
      if (
        node.partspec || node.partbound || node.inhRelations || node.options || node.tablespacename
      ) {
        found.push("option");
      }
      for (const element of (node.tableElts ?? []) as Record<string, Node>[]) {
        if (element.ColumnDef) found.push(...refusedColumn(element.ColumnDef, false));
        if (element.Constraint) found.push(...refusedConstraint(element.Constraint));
      }
      return found;
    }
    case "SelectStmt":
    case "InsertStmt":
    case "UpdateStmt":
    case "DeleteStmt":
    case "ViewStmt":
    case "DropStmt":
    case "CommentStmt":
    case "GrantStmt":
    case "RenameStmt":
    case "CreateRoleStmt":
    case "DropRoleStmt":
    case "AlterRoleSetStmt":
    case "CreateSchemaStmt":
    case "CreateDomainStmt":
    case "CreateFunctionStmt":
    case "VariableSetStmt":
    case "AlterObjectSchemaStmt":
    case "AlterSeqStmt":
    case "AlterOwnerStmt":
    case "TransactionStmt":
      return [];
    default:
      return [kind];
  }
}

/** What protects data in a statement of PostgreSQL: each foreign key, check, unique constraint, key and predicate, by kind. */
export function protections(sql: string): string[] {
  const found: string[] = [];
  for (const statement of parse(sql)) {
    JSON.stringify(statement, (key, value) => {
      if (key === "Constraint") {
        const { contype, indexname } = value as { contype: string; indexname?: string };
        const protects = /CONSTR_(?:FOREIGN|CHECK|UNIQUE|PRIMARY|NOTNULL)$/.test(contype);
        if (protects && !indexname) found.push(contype);
      }
      if (key === "IndexStmt") {
        const index = value as { unique?: boolean; whereClause?: unknown };
        if (index.unique) found.push("CONSTR_UNIQUE");
        if (index.whereClause) found.push("predicate");
      }
      if (key === "AlterTableCmd" && (value as { subtype: string }).subtype === "AT_SetNotNull") {
        found.push("CONSTR_NOTNULL");
      }
      return value;
    });
  }
  return found.sort();
}
