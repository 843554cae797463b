/**
 * Loads several test files into one isolate, so that the library and its packages are loaded once.
 *
 *   deno test -A --no-check tests/support/one_isolate.ts -- tests/core/*_test.ts
 */
for (const path of Deno.args) await import(new URL(`../../${path}`, import.meta.url).href);
