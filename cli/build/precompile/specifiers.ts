/** Specifier of `validation/precompiled_schema.ts` in generated modules. */
export const RUNTIME = "trellis-schemas/runtime";
/** Specifier of the module that loads {@link SCHEMA_FILE}. */
export const LOADER = "trellis-schemas/loader";
/** The file with zod and the schemas of a function, next to its bundle. */
export const SCHEMA_FILE = "schemas.cjs";
/** Specifier of a module that is bundled if a schema that needs zod is used. */
export const USED = "trellis-schemas/used";
