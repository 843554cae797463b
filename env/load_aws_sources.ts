/**
 * Loads the module that reads values from AWS services, on first use. `trellis build` replaces this file by a static
 * import, so that no module of a bundle is wrapped in a function.
 */
export function loadAwsSources(): Promise<typeof import("./aws_sources.ts")> {
  return import("./aws_sources.ts");
}
