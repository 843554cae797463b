/** Functions of commonly used extensions, which do not exist on the provider. */
const FUNCTIONS: ReadonlySet<string> = new Set([
  // pgcrypto
  ...[
    "crypt",
    "gen_salt",
    "gen_random_bytes",
    "digest",
    "hmac",
    "pgp_sym_encrypt",
    "pgp_sym_decrypt",
  ],
  ...["pgp_pub_encrypt", "pgp_pub_decrypt", "armor", "dearmor"],
  // pg_trgm, fuzzystrmatch, unaccent
  ...[
    "similarity",
    "word_similarity",
    "strict_word_similarity",
    "show_trgm",
    "levenshtein",
    "soundex",
    "metaphone",
  ],
  ...["dmetaphone", "daitch_mokotoff", "unaccent"],
  // tablefunc, hstore, earthdistance, dblink, vector
  ...[
    "crosstab",
    "connectby",
    "normal_rand",
    "hstore",
    "akeys",
    "avals",
    "earth_distance",
    "ll_to_earth",
    "earth_box",
  ],
  ...[
    "dblink",
    "dblink_exec",
    "l2_distance",
    "cosine_distance",
    "inner_product",
    "vector_dims",
    "l2_normalize",
  ],
]);

/**
 * Checks for a function of an extension.
 *
 * @param name Name of the function, without its schema.
 */
export function isExtensionFunction(name: string): boolean {
  return FUNCTIONS.has(name) || /^st_[a-z]/.test(name); // PostGIS
}
