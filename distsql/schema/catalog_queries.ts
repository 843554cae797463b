/** Query for a table, by its exact name (`$1` as text) or its oid. */
export function tableQuery(where: string): string {
  return `SELECT c.oid::text AS oid, n.nspname::text AS schema, ` +
    `c.relname::text AS name, c.relkind::text AS kind, ` +
    `c.relpersistence::text AS persistence, pg_get_userbyid(c.relowner)::text AS owner, ` +
    `obj_description(c.oid, 'pg_class') AS comment, ` +
    `array_to_json(c.reloptions)::text AS options, ` +
    `c.relrowsecurity AS row_security, c.relispartition AS ` +
    `is_partition, c.reltablespace::text AS tablespace, ` +
    `c.relreplident::text AS replica_identity, to_regclass('sys.jobs') IS NOT NULL AS distsql ` +
    `FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace ` +
    `WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ${where}`;
}

/** Query for the columns of a table. PGlite 0.5.17 adds the option `pg_attver`, which other servers refuse. */
export function columnsQuery(oid: string): string {
  return `SELECT a.attname::text AS name, format_type(a.atttypid, ` +
    `a.atttypmod) AS type, a.attnotnull AS not_null, ` +
    `a.attidentity::text AS identity, a.attgenerated::text AS ` +
    `generated, pg_get_expr(d.adbin, d.adrelid) AS expression, ` +
    `CASE WHEN a.attcollation <> t.typcollation THEN quote_ident(cn.nspname) || '.' || ` +
    `quote_ident(co.collname) END AS collation, ` +
    `col_description(a.attrelid, a.attnum) AS comment, ` +
    `CASE WHEN a.attstorage <> t.typstorage THEN a.attstorage::text END AS storage, ` +
    `nullif(a.attcompression::text, '') AS compression, ` +
    `nullif(a.attstattarget, -1)::int AS statistics, ` +
    `(SELECT json_agg(o)::text FROM unnest(a.attoptions) o ` +
    `WHERE o NOT LIKE 'pg\\_attver=%') AS options ` +
    `FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid ` +
    `LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum ` +
    `LEFT JOIN pg_collation co ON co.oid = a.attcollation LEFT ` +
    `JOIN pg_namespace cn ON cn.oid = co.collnamespace ` +
    `WHERE a.attrelid = ${oid} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`;
}

/**
 * Query for the sequences owned by columns of a table: `i` of identity columns, `a` of serial ones.
 */
export function sequencesQuery(oid: string): string {
  return `SELECT a.attname::text AS column, d.deptype::text AS kind, ` +
    `n.nspname::text AS schema, c.relname::text AS name, ` +
    `s.seqstart::text AS start, s.seqincrement::text AS ` +
    `increment, s.seqmin::text AS min, s.seqmax::text AS max, ` +
    `s.seqcache::text AS cache, s.seqcycle AS cycle, ` +
    `format_type(s.seqtypid, NULL) AS type, c.oid::text AS oid ` +
    `FROM pg_depend d JOIN pg_class c ON c.oid = d.objid AND ` +
    `c.relkind = 'S' JOIN pg_sequence s ON s.seqrelid = c.oid ` +
    `JOIN pg_namespace n ON n.oid = c.relnamespace ` +
    `JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid ` +
    `WHERE d.classid = 'pg_class'::regclass AND d.refclassid = ` +
    `'pg_class'::regclass AND d.refobjid = ${oid} ` +
    `AND d.deptype IN ('a', 'i') ORDER BY a.attnum`;
}

/** Returns SQL for the names of columns by an array of column numbers, as JSON. */
function getNames(array: string, relation: string): string {
  return `(SELECT json_agg(a.attname ORDER BY k.place)::text FROM ` +
    `unnest(${array}) WITH ORDINALITY AS k (attnum, place) ` +
    `JOIN pg_attribute a ON a.attrelid = ${relation} AND a.attnum = k.attnum)`;
}

/**
 * Query for the constraints of a table (`conrelid`), or the foreign keys of other tables that
 * reference it (`confrelid`).
 */
export function constraintsQuery(oid: string, side: "conrelid" | "confrelid"): string {
  const others = side === "confrelid"
    ? "AND con.contype = 'f' AND con.conrelid <> con.confrelid"
    : "";
  return `SELECT con.conname::text AS name, con.contype::text AS ` +
    `type, pg_get_constraintdef(con.oid) AS definition, ` +
    `con.convalidated AS validated, ${getNames("con.conkey", "con.conrelid")} AS columns, ` +
    `${getNames("con.confkey", "con.confrelid")} AS targets, ` +
    `fn.nspname::text AS target_schema, fc.relname::text AS target, ` +
    `n.nspname::text AS schema, c.relname::text AS table, ` +
    `obj_description(con.oid, 'pg_constraint') AS comment, ` +
    `CASE WHEN (SELECT count(*) FROM pg_index own JOIN ` +
    `pg_index other ON other.indrelid = own.indrelid ` +
    `AND other.indisunique AND other.indkey::text = ` +
    `own.indkey::text WHERE own.indexrelid = con.conindid) > 1 ` +
    `THEN (SELECT relname::text FROM pg_class WHERE oid = con.conindid) END AS key_index ` +
    `FROM pg_constraint con JOIN pg_class c ON c.oid = ` +
    `con.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace ` +
    `LEFT JOIN pg_class fc ON fc.oid = con.confrelid LEFT JOIN ` +
    `pg_namespace fn ON fn.oid = fc.relnamespace ` +
    `WHERE con.${side} = ${oid} ${others} ORDER BY n.nspname, c.relname, con.contype, con.conname`;
}

/** Query for the indexes of a table that belong to no constraint. */
export function indexesQuery(oid: string): string {
  return `SELECT c.relname::text AS name, i.indisunique AS is_unique, i.indisvalid AS valid, ` +
    `pg_get_indexdef(i.indexrelid) AS definition, obj_description(c.oid, 'pg_class') AS comment, ` +
    `i.indexprs IS NULL AND i.indpred IS NULL AS is_plain, i.indnkeyatts::int AS key_count, ` +
    `${getNames("i.indkey::smallint[]", "i.indrelid")} AS keys, ` +
    `(SELECT json_agg(DISTINCT a.attname)::text FROM pg_depend d ` +
    `JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid ` +
    `WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid AND d.refobjid = ` +
    `i.indrelid AND d.refobjsubid > 0) AS used ` +
    `FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid ` +
    `WHERE i.indrelid = ${oid} AND NOT EXISTS ` +
    `(SELECT FROM pg_constraint con WHERE con.conindid = i.indexrelid AND con.conrelid = ` +
    `i.indrelid AND con.contype IN ('p', 'u', 'x')) ` +
    `ORDER BY c.relname`;
}

/**
 * Query for the grants on a relation and its columns.
 *
 * @param relation SQL for the relation's oid.
 * @param kind `r` for a table, `s` for a sequence.
 */
export function grantsQuery(relation: string, kind: "r" | "s" = "r"): string {
  const fields = "g.privilege_type::text AS privilege, g.is_grantable AS grantable";
  const role =
    "CASE WHEN g.grantee = 0 THEN NULL ELSE pg_get_userbyid(g.grantee)::text END AS grantee";
  return `SELECT ${role}, ${fields}, NULL::text AS column FROM pg_class c ` +
    `CROSS JOIN LATERAL aclexplode(coalesce(c.relacl, ` +
    `acldefault('${kind}', c.relowner))) AS g WHERE c.oid = ${relation} ` +
    `UNION ALL SELECT ${role}, ${fields}, a.attname::text FROM pg_attribute a ` +
    `CROSS JOIN LATERAL aclexplode(a.attacl) AS g WHERE ` +
    `a.attrelid = ${relation} AND NOT a.attisdropped ` +
    `ORDER BY 4 NULLS FIRST, 1 NULLS FIRST, 2`;
}

/**
 * Query for the objects that depend on a table, except constraints, defaults, indexes and
 * sequences.
 */
export function dependentsQuery(oid: string): string {
  const views = `SELECT CASE v.relkind WHEN 'm' THEN 'materialized view ' ` +
    `WHEN 'v' THEN 'view ' ELSE 'rule on ' END || ` +
    `quote_ident(n.nspname) || '.' || quote_ident(v.relname) AS what FROM pg_depend d ` +
    `JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class JOIN ` +
    `pg_namespace n ON n.oid = v.relnamespace ` +
    `WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid ` +
    `= 'pg_class'::regclass AND d.refobjid = ${oid}`;
  const others = `SELECT pg_describe_object(d.classid, d.objid, d.objsubid) FROM pg_depend d ` +
    `WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = ` +
    `${oid} AND d.deptype IN ('n', 'a') AND d.classid NOT IN ` +
    `('pg_class'::regclass, 'pg_constraint'::regclass, ` +
    `'pg_attrdef'::regclass, 'pg_type'::regclass, 'pg_rewrite'::regclass)`;
  const rowTypes = `SELECT pg_describe_object(d.classid, d.objid, d.objsubid) FROM pg_type t ` +
    `JOIN pg_depend d ON d.refclassid = ` +
    `'pg_type'::regclass AND d.refobjid IN (t.oid, t.typarray) ` +
    `WHERE t.typrelid = ${oid} AND d.deptype = 'n' AND d.classid <> 'pg_type'::regclass`;
  const families = `SELECT 'inheritance with ' || (CASE i.inhrelid WHEN ${oid} ` +
    `THEN i.inhparent ELSE i.inhrelid END)::regclass ` +
    `FROM pg_inherits i WHERE i.inhrelid = ${oid} OR i.inhparent = ${oid}`;
  return `SELECT DISTINCT what FROM (${views} UNION ALL ${others} UNION ALL ${rowTypes} UNION ` +
    `ALL ${families}) AS all_of_them ` +
    `ORDER BY what`;
}
