import { keywordSet } from "../../sql/list_words.ts";

/**
 * PostgreSQL functions whose result depends only on their arguments and the session's settings
 * (PostgreSQL 15 and later, chapter 9). None reads a table or the catalog.
 */
export const STABLE_FUNCTIONS: ReadonlySet<string> = keywordSet(
  // strings and binary strings
  "ascii bit_count bit_length btrim char_length character_length " +
    "chr concat concat_ws convert convert_from convert_to " +
    "decode encode format get_bit get_byte initcap left length lower " +
    "lpad ltrim md5 normalize is_normalized octet_length " +
    "overlay parse_ident position quote_ident quote_literal " +
    "quote_nullable regexp_count regexp_instr regexp_like " +
    "regexp_match regexp_matches regexp_replace regexp_split_to_array " +
    "regexp_split_to_table regexp_substr repeat replace " +
    "reverse right rpad rtrim set_bit set_byte sha224 sha256 sha384 " +
    "sha512 split_part string_to_array string_to_table " +
    "strpos substr substring starts_with to_ascii to_hex translate trim unistr upper " +
    // numbers
    "abs acos acosd acosh asin asind asinh atan atan2 atan2d atand " +
    "atanh cbrt ceil ceiling cos cosd cosh cot cotd " +
    "degrees div erf erfc exp factorial floor gcd lcm ln log log10 " +
    "min_scale mod pi pow power radians round scale sign " +
    "sin sind sinh sqrt tan tand tanh trim_scale trunc width_bucket " +
    // dates and times; age() with one argument reads the clock and is handled separately
    "age date_bin date_part date_trunc extract isfinite " +
    "justify_days justify_hours justify_interval make_date " +
    "make_interval make_time make_timestamp make_timestamptz " +
    "timezone to_char to_date to_number to_timestamp " +
    // JSON
    "json_array json_array_elements json_array_elements_text " +
    "json_array_length json_build_array json_build_object " +
    "json_each json_each_text json_extract_path " +
    "json_extract_path_text json_object json_object_keys " +
    "json_populate_record json_populate_recordset " +
    "json_strip_nulls json_to_record json_to_recordset json_typeof " +
    "jsonb_array_elements jsonb_array_elements_text " +
    "jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each " +
    "jsonb_each_text jsonb_extract_path jsonb_extract_path_text " +
    "jsonb_insert jsonb_object jsonb_object_keys " +
    "jsonb_path_exists jsonb_path_match jsonb_path_query " +
    "jsonb_path_query_array jsonb_path_query_first " +
    "jsonb_populate_record jsonb_populate_recordset " +
    "jsonb_pretty jsonb_set jsonb_set_lax jsonb_strip_nulls " +
    "jsonb_to_record jsonb_to_recordset jsonb_typeof row_to_json array_to_json to_json to_jsonb " +
    // arrays, sets and rows
    "array_append array_cat array_dims array_fill array_length " +
    "array_lower array_ndims array_position array_positions " +
    "array_prepend array_remove array_replace " +
    "array_to_string array_upper cardinality generate_series " +
    "generate_subscripts num_nonnulls num_nulls trim_array unnest " +
    // network addresses and text search
    "abbrev broadcast family host hostmask masklen netmask network set_masklen " +
    "to_tsvector to_tsquery plainto_tsquery " +
    "phraseto_tsquery websearch_to_tsquery setweight strip " +
    // casts written as calls
    "bool bpchar date float4 float8 int2 int4 int8 interval " +
    "numeric text time timestamp timestamptz timetz varchar " +
    // the session
    "current_database current_schema pg_typeof version",
);

/** Functions that return another value at each call and read no table. */
export const VOLATILE_FUNCTIONS: ReadonlySet<string> = keywordSet(
  "clock_timestamp gen_random_uuid nextval random timeofday",
);

/** Functions that return the time of the transaction or statement, with or without brackets. */
export const TIME_FUNCTIONS: ReadonlySet<string> = keywordSet(
  "now statement_timestamp transaction_timestamp",
);

/** Keywords before a bracket that are not function calls. */
export const SYNTAX_WORDS: ReadonlySet<string> = keywordSet(
  "ALL AND ANY ARRAY AS ASC BY CASE CAST COALESCE CUBE DESC " +
    "DISTINCT ELSE EXCEPT EXISTS FETCH FILTER FROM GREATEST " +
    "GROUPING HAVING ILIKE IN INTERSECT JOIN LATERAL LEAST LIKE LIMIT " +
    "MATERIALIZED NOT NULLIF OFFSET ON OR OVER RETURNING " +
    "ROLLUP ROW SELECT SET SOME THEN TO UNION USING VALUES " +
    "WHEN WHERE WITH WITHIN GROUP IS BETWEEN " +
    "CHAR CHARACTER DEC DECIMAL FLOAT NCHAR VARYING",
);
