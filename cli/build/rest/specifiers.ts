/** The file with code that a usual request does not run, next to the bundle of a function. */
export const REST_FILE = "rest.cjs";
/** The prefix of specifiers for functions of {@link REST_FILE}: `trellis-rest:<module>#<name>`. */
export const REST = "trellis-rest:";
/** The prefix of specifiers for modules that open {@link REST_FILE} with what a module shares. */
export const LINK = "trellis-rest-link:";
/** Specifier of the module that loads {@link REST_FILE}. */
export const LOADER = "trellis-rest-loader:file";
/** The prefix of specifiers for modules of this package, by their paths without extension. */
export const OWN = "trellis-rest-own:";
/** Specifier of the values that {@link REST_FILE} gets from the bundle. */
export const SHARED = "trellis-rest-shared:values";
/** The key of parts of postgres.js, followed by `#` and the name of their module. */
export const POSTGRES = "postgres";
/** The prefix of specifiers for modules of postgres.js in {@link REST_FILE}, by their names. */
export const POSTGRES_PART = "trellis-rest-postgres:";
/** The prefix of entry points of {@link REST_FILE}, followed by the name of the function. */
export const ENTRY = "trellis-rest-of:";
