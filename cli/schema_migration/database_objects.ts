import { type Catalog, type CatalogTable, getLabel } from "./catalog.ts";
import { OWN, OWN_CLASS, POLICY_DEFINITION, type Queryable, readCatalog } from "./read_catalog.ts";

/** Definitions of the objects of a database by their labels: `column notes.title`. */
export type DatabaseObjects = ReadonlyMap<string, string>;

/** An object that differs between two databases. */
export interface ObjectDifference {
  /** `column notes.title` */
  readonly label: string;
  /** Its definition in the first database; `undefined` if it is missing there. */
  readonly have: string | undefined;
  /** Its definition in the second database; `undefined` if it is missing there. */
  readonly want: string | undefined;
}

/** Excludes objects of extensions. */
const noExtension = (id: string) =>
  `NOT EXISTS (SELECT FROM pg_depend e WHERE e.objid = ${id} AND e.deptype = 'e')`;

/** Objects that a drizzle schema cannot declare. Their definitions are statements where possible. */
const OTHERS = `SELECT 'function ' || p.oid::regprocedure::text AS label,
  pg_get_functiondef(p.oid) AS definition
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE p.prokind <> 'a' AND ${OWN} AND ${noExtension("p.oid")}
UNION ALL SELECT 'aggregate ' || p.oid::regprocedure::text,
  concat_ws(' ', a.aggtransfn, a.aggfinalfn, a.aggtranstype::regtype, a.agginitval, p.proparallel)
FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE ${OWN} AND ${noExtension("p.oid")}
UNION ALL SELECT 'index of view ' || i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'm' AND ${OWN_CLASS}
UNION ALL SELECT 'trigger ' || quote_ident(t.tgname) || ' ON ' || c.oid::regclass::text,
  pg_get_triggerdef(t.oid) || CASE t.tgenabled WHEN 'O' THEN '' ELSE
    format(E';\nALTER TABLE %s %s TRIGGER %I', c.oid::regclass, CASE t.tgenabled WHEN 'D' THEN 'DISABLE'
      WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END, t.tgname) END
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE NOT t.tgisinternal AND t.tgparentid = 0 AND ${OWN_CLASS}
UNION ALL SELECT 'policy ' || quote_ident(p.polname) || ' ON ' || c.oid::regclass::text,
  format('CREATE POLICY %I ON %s ', p.polname, c.oid::regclass) || ${POLICY_DEFINITION}
FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE ${OWN_CLASS}
UNION ALL SELECT 'rule ' || quote_ident(r.rulename) || ' ON ' || c.oid::regclass::text,
  pg_get_ruledef(r.oid)
FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE r.rulename <> '_RETURN' AND ${OWN_CLASS}
UNION ALL SELECT 'type ' || t.oid::regtype::text, concat_ws(' ',
  CASE t.typtype WHEN 'd' THEN 'DOMAIN' WHEN 'r' THEN 'RANGE' END,
  CASE WHEN t.typbasetype <> 0 THEN format_type(t.typbasetype, t.typtypmod) END, t.typdefault,
  CASE WHEN t.typnotnull THEN 'NOT NULL' END,
  (SELECT string_agg(pg_get_constraintdef(k.oid), ' ' ORDER BY k.conname)
    FROM pg_constraint k WHERE k.contypid = t.oid),
  (SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum)
    FROM pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped))
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
LEFT JOIN pg_class c ON c.oid = t.typrelid
WHERE (t.typtype IN ('d', 'r') OR t.typtype = 'c' AND c.relkind = 'c')
  AND ${OWN} AND ${noExtension("t.oid")}
UNION ALL SELECT 'extension ' || extname, extversion FROM pg_extension WHERE extname <> 'plpgsql'
UNION ALL SELECT 'comment on ' || pg_describe_object(d.classoid, d.objoid, d.objsubid), d.description
FROM pg_description d WHERE d.objoid >= 16384 AND ${noExtension("d.objoid")}
UNION ALL SELECT 'statistics ' || s.stxname, pg_get_statisticsobjdef(s.oid)
FROM pg_statistic_ext s JOIN pg_namespace n ON n.oid = s.stxnamespace WHERE ${OWN}
UNION ALL SELECT 'storage of ' || c.oid::regclass::text, concat_ws(', ',
  CASE c.relpersistence WHEN 'u' THEN 'UNLOGGED' WHEN 't' THEN 'TEMPORARY' END,
  'WITH ' || c.reloptions::text,
  CASE c.relreplident WHEN 'f' THEN 'REPLICA IDENTITY FULL' WHEN 'n' THEN 'REPLICA IDENTITY NOTHING'
    WHEN 'i' THEN 'REPLICA IDENTITY USING INDEX' END,
  CASE WHEN c.relforcerowsecurity THEN 'FORCE ROW LEVEL SECURITY' END,
  'PARTITION BY ' || pg_get_partkeydef(c.oid),
  (SELECT CASE WHEN c.relispartition THEN 'PARTITION OF ' ELSE 'INHERITS ' END ||
    string_agg(i.inhparent::regclass::text, ', ' ORDER BY i.inhseqno)
    FROM pg_inherits i WHERE i.inhrelid = c.oid),
  pg_get_expr(c.relpartbound, c.oid),
  (SELECT string_agg(concat_ws(' ', 'column', a.attname, CASE WHEN a.attstorage <> t.typstorage THEN
      'STORAGE ' || a.attstorage::text END, 'COMPRESSION ' || nullif(a.attcompression::text, '')),
      ', ' ORDER BY a.attnum)
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = c.oid
    AND a.attnum > 0 AND NOT a.attisdropped AND NOT starts_with(a.attname, '__orm_kept_')
    AND (a.attstorage <> t.typstorage OR a.attcompression <> '')))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND ${OWN_CLASS}`;

/**
 * Reads the objects of a database with their definitions: those that a drizzle schema can declare,
 * and functions, aggregates, triggers, policies, rules, types, extensions, comments, statistics, indexes
 * of views and options of storage. Rights, owners and the order of columns are left out.
 *
 * @param database The database.
 * @param catalog Its catalog, if it was read.
 */
export async function readObjects(
  database: Queryable,
  catalog?: Catalog,
): Promise<DatabaseObjects> {
  const { schemas, enums, sequences, tables, views } = catalog ?? await readCatalog(database);
  const { rows } = await database.query<{ label: string; definition: string }>(OTHERS);
  return new Map([
    ...schemas.map((name) => [`schema ${name}`, ""] as const),
    ...enums.map((each) => [`enum ${getLabel(each)}`, each.values.join(", ")] as const),
    ...sequences.map((each) => [`sequence ${getLabel(each)}`, each.definition] as const),
    ...views.map(({ definition, method, tablespace, options, ...view }) => {
      const rest = [method, tablespace, JSON.stringify(options)].filter((part) => part !== null);
      return [`view ${getLabel(view)}`, [definition, ...rest].join(" ")] as const;
    }),
    ...tables.flatMap(listParts),
    ...rows.map(({ label, definition }) => [label, definition] as const),
  ]);
}

function listParts(table: CatalogTable): [string, string][] {
  const label = getLabel(table);
  return [
    [`table ${label}`, table.hasRowSecurity ? "ENABLE ROW LEVEL SECURITY" : ""],
    ...table.columns.map(({ name, ownSequence, ...column }): [string, string] => [
      `column ${label}.${name}`,
      [
        column.type,
        column.collation === null ? "" : `COLLATE ${column.collation}`,
        column.isRequired ? "NOT NULL" : "",
        column.default === null ? "" : `DEFAULT ${column.default}`,
        column.generated ?? "",
        column.identity === null ? "" : `${column.identity} AS IDENTITY (${column.sequence})`,
        column.isSerial && ownSequence !== null ? `serial ${getLabel(ownSequence)}` : "",
      ].filter((part) => part !== "").join(" "),
    ]),
    ...table.rules.map(({ name, kind, definition }): [string, string] => [
      `${kind} ${label}:${name}`,
      definition,
    ]),
  ];
}

/** Compares the objects of two databases. */
export function compareObjects(have: DatabaseObjects, want: DatabaseObjects): ObjectDifference[] {
  const labels = [...new Set([...have.keys(), ...want.keys()])].sort();
  return labels.map((label) => ({ label, have: have.get(label), want: want.get(label) }))
    .filter((each) => each.have !== each.want);
}

/** Kinds of objects whose definitions are statements, with what follows DROP. */
const RESTORED: readonly (readonly [start: string, dropped: string])[] = [
  ["function ", "ROUTINE "],
  ["index of view ", "INDEX "],
  ["policy ", "POLICY "],
  ["trigger ", "TRIGGER "],
];

/**
 * Returns the statements that give an object of the first database the definition of the second one;
 * none for a kind without such statements.
 */
export function restoreObject({ label, have, want }: ObjectDifference): string[] {
  const [start, dropped] = RESTORED.find(([start]) => label.startsWith(start)) ?? [];
  if (start === undefined) return [];
  // a function is replaced
  const isDropped = have !== undefined && (want === undefined || start !== "function ");
  return [
    ...isDropped ? [`DROP ${dropped}${label.slice(start.length)}`] : [],
    ...want === undefined ? [] : [want.trim()],
  ];
}

/** Literals, and words and names with the point that makes them a qualifier. */
const TOKENS = /'[^']*'|\d[\w.]*|(?:[^\W\d]\w*|"[^"]*")(\.(?=[\w"]))?/g;

/**
 * Returns the objects for a comparison of servers of different versions, which print the queries of
 * views with and without the names of tables.
 */
export function toPortable(objects: DatabaseObjects): DatabaseObjects {
  return new Map(
    [...objects].map(([label, definition]) => [
      label,
      /^(?:view|rule) /.test(label)
        ? definition.replace(/\s+/g, " ").replace(TOKENS, (token, point) => point ? "" : token)
        : definition,
    ]),
  );
}

/**
 * Describes a difference in one line.
 *
 * @param first The first database: `the database`.
 * @param second The second database: `the migrations`.
 */
export function describeDifference(
  { label, have, want }: ObjectDifference,
  first: string,
  second: string,
): string {
  if (have === undefined) return `${label} is missing in ${first}`;
  if (want === undefined) return `${label} is only in ${first}`;
  return `${label} is ${have || "plain"} in ${first} and ${want || "plain"} in ${second}`;
}
