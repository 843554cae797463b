/** Specifier of `validation/precompiled_schema.ts` in generated modules. */
export const RUNTIME = "trellis-schemas/runtime";
/** Specifier of the module that loads {@link SCHEMA_FILE}. */
export const LOADER = "trellis-schemas/loader";
/** The prefix of specifiers for schemas that are compiled, which their keys follow. */
export const COMPILED = "trellis-schema:";
/** The file with zod and the schemas of a function, next to its bundle. */
export const SCHEMA_FILE = "schemas.cjs";
