/**
 * Loads the driver of the Data API on first use. `trellis build` replaces this file by a static
 * import if the function certainly uses the provider.
 */
export function loadDataApi(): Promise<typeof import("./data_api.ts")> {
  return import("./data_api.ts");
}
