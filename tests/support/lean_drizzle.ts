import {
  createClients,
  createDataApiDialect,
  type DrizzleFile,
} from "../../database/precompiled/drizzle_file.ts";

/** The statements that tests replace by compiled ones. */
export const statements: Record<string, (db: object) => object> = {};
/** The schemas that tests replace. */
export const schemas: Record<string, Record<string, unknown>> = {};

/** Number of calls of {@link loadDrizzle}. */
export let loads = 0;

/** Loads drizzle as the second file of a built function does. */
export function loadDrizzle(): DrizzleFile {
  loads++;
  return { createClients, createDataApiDialect, statements, schemas };
}
