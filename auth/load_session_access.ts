/**
 * Loads the checks of options such as `roles`. `trellis build` replaces this module by one that
 * imports them statically.
 */
export function loadSessionAccess(): Promise<typeof import("./session_access.ts")> {
  return import("./session_access.ts");
}
